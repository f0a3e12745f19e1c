/// What `Database` needs from SQLite or PostgreSQL.
protocol Engine: Sendable {
  /// Whether the calling thread may run short reads itself, because it does not wait for a server.
  var readsInline: Bool { get }

  var writeWork: DatabaseWork { get }
  var readWork: DatabaseWork { get }

  /// Runs `body` on the calling thread in one consistent snapshot of both schemas.
  func read<Value>(_ body: (Session) throws -> Value) throws -> Value

  /// The same for the schema that this program writes, without the other.
  func readOwned<Value>(_ body: (Session) throws -> Value) throws -> Value

  /// Queues a write. Throws if it is refused at once; the request is then never called.
  func submit(_ request: WriteRequest) throws(DatabaseError)

  /// SQL that returns the kind and name of a schema's tables and unique indexes, as in `SchemaParts`.
  func partsQuery(of schema: Schema) -> String

  /// A way to tell news to other programs. Does not block.
  func makeNewsChannel() -> any NewsChannel

  /// A place where news of all programs arrive.
  func makeNewsReceiver() throws -> any NewsReceiver

  /// Finishes queued work, stops the threads and closes the connections. Call once.
  func close()
}

extension Engine {
  func readOwned<Value>(_ body: (Session) throws -> Value) throws -> Value { try read(body) }
}
