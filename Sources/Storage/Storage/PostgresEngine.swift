internal import Base
internal import Postgres

/// The engine for those who outgrow one machine: a pool that reads and a pool that writes.
///
/// Nothing here keeps a program from writing the schema it does not own; give the two programs
/// roles that do.
final class PostgresEngine: Engine {
  private let pool: PostgresPool
  private let writer: PostgresWriter
  private let options: DatabaseOptions

  init(url: Secret, _ preparation: Database.Preparation, options: DatabaseOptions) throws {
    let server = PostgresServer(url: url, options: options)
    do {
      let migrator = PostgresMigrator(server, options: options)
      switch preparation {
      case .migrates: try migrator.migrate()
      case .requiresSchema: try migrator.check()
      }
    } catch let error as PostgresError {
      throw error.databaseError
    }
    pool = PostgresPool(server, options: options)
    writer = PostgresWriter(server, options: options)
    self.options = options
  }

  var readsInline: Bool { false }

  var writeWork: DatabaseWork { writer.work.total }

  var readWork: DatabaseWork { pool.work.total }

  func read<Value>(_ body: (Session) throws -> Value) throws -> Value { try pool.read(body) }

  func submit(_ request: WriteRequest) throws(DatabaseError) { try writer.submit(request) }

  func close() {
    writer.close()
    pool.close(until: .now() + options.readTime)
  }
}
