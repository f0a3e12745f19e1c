import Base
import Postgres

/// The engine for installations that outgrow one machine: a pool that reads and a pool that writes.
///
/// Nothing here prevents a program from writing the schema that it does not own. Give the two programs roles that do.
final class PostgresEngine: Engine {
  private let readers: ReadPool<PostgresSnapshots>
  private let writer: PostgresWriter
  private let server: PostgresServer
  private let options: DatabaseOptions

  init(url: Secret, _ preparation: Database.Preparation, options: DatabaseOptions) throws {
    let server = PostgresServer(url: url, options: options)
    do {
      try Migrator(site: PostgresMigration(server, options: options), options: options)
        .prepare(preparation)
    } catch let error as PostgresError {
      throw error.databaseError
    }
    readers = ReadPool(PostgresSnapshots(server: server, options: options), options: options)
    writer = PostgresWriter(server, options: options)
    self.server = server
    self.options = options
  }

  var readsInline: Bool { false }

  var writeWork: DatabaseWork { writer.work.total }

  var readWork: DatabaseWork { readers.work.total }

  func read<Value>(_ body: (Session) throws -> Value) throws -> Value { try readers.read(body) }

  func submit(_ request: WriteRequest) throws(DatabaseError) { try writer.submit(request) }

  func partsQuery(of schema: Schema) -> String { SchemaParts.postgresQuery(schema) }

  func makeNewsChannel() -> any NewsChannel { PostgresNewsChannel(server) }

  func makeNewsReceiver() throws -> any NewsReceiver {
    do throws(PostgresError) { return try PostgresNewsReceiver(server) } catch {
      throw error.databaseError
    }
  }

  func close() {
    writer.close()
    readers.close(until: .now() + options.readTime)
  }
}
