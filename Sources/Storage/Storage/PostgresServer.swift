import Base
import Postgres

/// The settings for connections to the server: the secret, the bounds and the session's settings.
struct PostgresServer: Sendable {
  let url: Secret
  let options: DatabaseOptions

  private static let connectSeconds = 5
  /// The wait beyond the server's own limit on a statement. After it the connection itself is in doubt.
  private static let answerGrace = Instant.Span.seconds(5)

  func connect(statementTime: Instant.Span) throws(PostgresError) -> PostgresConnection {
    let connection = try PostgresConnection(
      url: url, connectSeconds: Self.connectSeconds,
      answerWait: Instant.Span(
        milliseconds: statementTime.milliseconds + Self.answerGrace.milliseconds))
    // With the empty path a name that is not qualified fails at once. No commit may be answered before it is durable.
    try connection.execute(
      """
      SET statement_timeout = \(statementTime.milliseconds);
      SET lock_timeout = \(options.lockWait.milliseconds);
      SET idle_in_transaction_session_timeout = 60000;
      SET search_path = pg_catalog;
      SET standard_conforming_strings = on;
      SET client_min_messages = warning;
      SELECT pg_catalog.set_config('synchronous_commit', 'on', false)
      WHERE pg_catalog.current_setting('synchronous_commit') = 'off'
      """)
    return connection
  }
}
