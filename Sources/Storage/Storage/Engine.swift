import Base

/// What `Database` needs from SQLite or PostgreSQL.
package protocol Engine: Sendable {
  /// True when a read is short enough for the thread that asks, which waits for no server.
  var readsInline: Bool { get }

  var writeWork: DatabaseWork { get }
  var readWork: DatabaseWork { get }

  /// Runs `body` on the calling thread in one consistent snapshot of both schemas.
  func read<Value>(_ body: (Session) throws -> Value) throws -> Value

  /// Queues a write; throws when it is refused at once, and then never calls it.
  func submit(_ request: WriteRequest) throws(DatabaseError)

  /// Answers kind and name of a schema's tables and unique indexes, as `SchemaParts` names them.
  func partsQuery(of schema: Schema) -> String

  /// Finishes what is queued, stops the threads and closes the connections. Called once.
  func close()
}
