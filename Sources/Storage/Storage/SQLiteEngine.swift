import Base
import SQLite

/// The embedded engine: two files in a directory, one writer thread, many readers.
final class SQLiteEngine: Engine {
  private let writer: SQLiteWriter
  private let readers: ReadPool<SQLiteSnapshots>
  private let ownedReaders: ReadPool<SQLiteSnapshots>
  private let checkpointer: SQLiteCheckpointer
  private let files: SQLiteFiles
  private let options: DatabaseOptions

  init(
    directory: String, owning schema: Schema, _ preparation: Database.Preparation,
    options: DatabaseOptions
  ) throws {
    let files = SQLiteFiles(directory: directory)
    do {
      try Migrator(site: SQLiteMigration(files: files, options: options), options: options)
        .prepare(preparation)
      let checkpointer = try SQLiteCheckpointer(files, of: schema, options: options)
      self.checkpointer = checkpointer
      do {
        writer = try SQLiteWriter(files, owning: schema, options: options) {
          checkpointer.committed(logFrameCount: $0)
        }
      } catch {
        checkpointer.close()
        throw error
      }
    } catch let error as SQLiteError {
      throw error.databaseError
    }
    readers = ReadPool(
      SQLiteSnapshots(files: files, owned: schema, foreign: schema.other, options: options),
      options: options)
    ownedReaders = ReadPool(
      SQLiteSnapshots(files: files, owned: schema, foreign: nil, options: options),
      options: options)
    self.files = files
    self.options = options
  }

  var readsInline: Bool { true }

  var writeWork: DatabaseWork { writer.work.total }

  var readWork: DatabaseWork {
    var work = readers.work.total
    work += ownedReaders.work.total
    return work
  }

  func read<Value>(_ body: (Session) throws -> Value) throws -> Value {
    try readers.read(body)
  }

  func readOwned<Value>(_ body: (Session) throws -> Value) throws -> Value {
    try ownedReaders.read(body)
  }

  func submit(_ request: WriteRequest) throws(DatabaseError) { try writer.submit(request) }

  func partsQuery(of schema: Schema) -> String { SchemaParts.sqliteQuery(schema.rawValue) }

  func makeNewsChannel() -> any NewsChannel { SQLiteNewsChannel(files) }

  func makeNewsReceiver() throws -> any NewsReceiver { try SQLiteNewsReceiver(files) }

  func close() {
    writer.close()
    readers.close(until: .now() + options.readTime)
    ownedReaders.close(until: .now() + options.readTime)
    checkpointer.close()
  }
}
