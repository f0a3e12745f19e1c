import Base
import Postgres

/// The name under which programs send news to each other through PostgreSQL.
private let channelName = "coffer_news"

/// Sends messages by NOTIFY, on a connection of its own that commits at once.
final class PostgresNewsChannel: NewsChannel {
  private let server: PostgresServer
  private var connection: PostgresConnection?
  private var hasLost = false

  private static let statementTime = Instant.Span.seconds(2)

  init(_ server: PostgresServer) { self.server = server }

  func send(_ messages: [String]) throws {
    var rest = ((hasLost ? [News.anything] : []) + messages)[...]
    hasLost = true
    // An idle connection may have died long ago, so one new connection is tried.
    for isLast in [connection == nil, true] {
      do throws(PostgresError) {
        let current =
          if let open = connection { open } else {
            try server.connect(statementTime: Self.statementTime)
          }
        connection = current
        while let message = rest.first {
          _ = try current.run(
            "SELECT pg_catalog.pg_notify($1, $2)", [.text(channelName), .text(message)])
          rest.removeFirst()
        }
        hasLost = false
        return
      } catch {
        connection = nil
        guard !isLast, error.isConnectionLost else { throw error }
      }
    }
  }
}

/// Listens on a connection of its own. A pooler that lends connections for single transactions loses the messages.
final class PostgresNewsReceiver: NewsReceiver {
  private let connection: PostgresConnection

  private static let statementTime = Instant.Span.seconds(5)

  init(_ server: PostgresServer) throws(PostgresError) {
    connection = try server.connect(statementTime: Self.statementTime)
    try connection.execute("LISTEN \(channelName)")
  }

  func receive(within span: Instant.Span) throws -> [String] {
    try connection.notifications(within: span)
  }
}
