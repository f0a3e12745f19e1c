package import Base
import CSQLite
import Glibc

/// One connection to SQLite with its statement cache, for one thread at a time.
///
/// Not Sendable: pools hand it from thread to thread under a lock.
@safe
package final class SQLiteConnection {
  /// When set, a statement still running at this moment ends as `.interrupted`.
  ///
  /// Only for reads: an interrupted write takes the whole transaction with it.
  package var readDeadline: MonotonicTime?
  /// The frames in the write-ahead log after the last commit of this connection.
  package private(set) var logFrameCount = 0

  /// The number of changed rows that statements only locked, without changing their values.
  package var lockedRowCount: Int64 = 0

  let handle: OpaquePointer
  private var cache: [StatementText: SQLiteStatement] = [:]

  private static let cachedStatementCountMax = 512
  private static let operationsBetweenDeadlineChecks: Int32 = 20_000

  /// Opens `file` (a path or `:memory:`) for reading and writing, creating it if it is missing.
  ///
  /// Query plans depend on statements alone. If SQLite could look at bound values, comparing a parameter with
  /// a column that a partial index names would make it prepare the statement again for each use
  /// (https://sqlite.org/c3ref/c_dbconfig_defensive.html, `SQLITE_DBCONFIG_ENABLE_QPSG`).
  ///
  /// Double-quoted strings are refused, and the schema is not trusted to call functions with side effects
  /// (https://sqlite.org/security.html).
  package init(file: String, busyTimeoutMilliseconds: Int32) throws(SQLiteError) {
    _ = Self.withoutMemoryStatistics
    var opened: OpaquePointer?
    let flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
      | SQLITE_OPEN_EXRESCODE
    let code = unsafe sqlite3_open_v2(file, &opened, flags, nil)
    guard let handle = unsafe opened, code == SQLITE_OK else {
      let message = unsafe String(cString: sqlite3_errstr(code))
      unsafe sqlite3_close_v2(opened)
      throw SQLiteError(code: code, message: "cannot open \(file): \(message)")
    }
    unsafe self.handle = unsafe handle
    waitForLocks(milliseconds: busyTimeoutMilliseconds)
    unsafe sqlite3_wal_autocheckpoint(handle, 0)
    for (option, value) in [
      (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
      (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), (SQLITE_DBCONFIG_DEFENSIVE, 1),
      (SQLITE_DBCONFIG_ENABLE_QPSG, 1),
    ] as [(Int32, Int32)] {
      unsafe coffer_db_config(handle, option, value)
    }
  }

  deinit {
    cache.removeAll()
    unsafe sqlite3_close_v2(handle)
  }

  /// Tries a lock once a millisecond, for `milliseconds`.
  ///
  /// SQLite's own waiting tries a dozen times in 100 ms: too rarely for a lock that quick readers hold.
  private func waitForLocks(milliseconds: Int32) {
    let tryCountMax = unsafe UnsafeMutableRawPointer(bitPattern: UInt(milliseconds))
    unsafe sqlite3_busy_handler(
      handle,
      { tryCountMax, tryCount in
        guard tryCount < Int32(UInt(bitPattern: tryCountMax)) else { return 0 }
        usleep(1000)
        return 1
      }, tryCountMax)
  }

  /// SQLite's count of its allocations would take a process-wide lock at each allocation
  /// (https://sqlite.org/malloc.html, section 3.2). It can only be turned off before the first connection.
  private static let withoutMemoryStatistics = coffer_config_memory_statistics(0)

  /// Enables `readDeadline`, at a small cost per statement.
  package func enforceReadDeadline() {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe sqlite3_progress_handler(
      handle, Self.operationsBetweenDeadlineChecks,
      { context in
        let connection = unsafe Unmanaged<SQLiteConnection>.fromOpaque(context!)
          .takeUnretainedValue()
        guard let deadline = connection.readDeadline else { return 0 }
        return deadline <= .now() ? 1 : 0
      }, context)
  }

  /// Keeps `logFrameCount` up to date.
  package func countLogFrames() {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe sqlite3_wal_hook(
      handle,
      { context, _, _, frameCount in
        unsafe Unmanaged<SQLiteConnection>.fromOpaque(context!).takeUnretainedValue()
          .logFrameCount = Int(frameCount)
        return SQLITE_OK
      }, context)
  }

  package enum Access: Sendable { case readWrite, readOnly }

  /// Attaches an existing file under a schema name. A file that may not be written is silently opened read-only.
  package func attach(_ path: String, as schema: String, _ access: Access) throws(SQLiteError) {
    let mode = access == .readOnly ? "ro" : "rw"
    let statement = try prepare("ATTACH $1 AS \(schema)", persistent: false)
    try statement.bind("file:\(Self.escaped(path))?mode=\(mode)", at: 0)
    while try statement.step() {}
  }

  /// Throws `.forbidden` if the file of a schema is open read-only.
  package func requireWritable(_ schema: String) throws(SQLiteError) {
    guard unsafe sqlite3_db_readonly(handle, schema) == 1 else { return }
    let path = unsafe sqlite3_db_filename(handle, schema).map { unsafe String(cString: $0) }
    throw SQLiteError(code: SQLITE_PERM, message: path ?? schema)
  }

  /// Runs one statement without parameters that will be run again, such as COMMIT.
  package func run(_ sql: String) throws(SQLiteError) {
    let text = StatementText(sql)
    let statement = try takeStatement(text)
    do {
      while try statement.step() {}
    } catch {
      cache[text] = nil
      throw error
    }
    giveBack(statement)
  }

  /// Runs statements without parameters, one after the other, and ignores their rows.
  package func execute(_ sql: String) throws(SQLiteError) {
    guard unsafe sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw unsafe Self.error(of: handle)
    }
  }

  /// The single integer that a statement such as `PRAGMA sync.data_version` returns.
  package func integer(_ sql: String) throws -> Int64 {
    try withStatement(sql) { statement in
      guard try statement.step() else {
        throw SQLiteError(code: SQLITE_MISUSE, message: "no row where one was expected")
      }
      return statement.integer(0)
    }
  }

  /// Lends a prepared statement to `body`. A nested use of the same text gets another one.
  ///
  /// A failed statement is not used again: "reset" does not restore all of them (https://sqlite.org/c3ref/reset.html).
  package func withStatement<Value>(
    _ sql: String, _ body: (SQLiteStatement) throws -> Value
  ) throws -> Value {
    let text = StatementText(sql)
    let statement = try takeStatement(text)
    do {
      let value = try body(statement)
      giveBack(statement)
      return value
    } catch {
      cache[text] = nil
      throw error
    }
  }

  private func takeStatement(_ text: StatementText) throws(SQLiteError) -> SQLiteStatement {
    let cached = cache[text]
    if let cached, !cached.isTaken {
      cached.isTaken = true
      return cached
    }
    let statement = try prepare(text.sql, persistent: true)
    statement.isTaken = true
    if cached == nil {
      // The program has a fixed set of statements. Beyond this bound, something builds SQL from data.
      if cache.count >= Self.cachedStatementCountMax { cache.removeAll() }
      cache[text] = statement
    }
    return statement
  }

  private func giveBack(_ statement: SQLiteStatement) {
    statement.reset()
    statement.isTaken = false
  }

  /// Rows changed by the last completed INSERT, UPDATE or DELETE.
  package var changedRowCount: Int64 { unsafe sqlite3_changes64(handle) }

  /// Rows changed since the connection was opened, including cascades, triggers and what was rolled back.
  package var totalChangedRowCount: Int64 { unsafe sqlite3_total_changes64(handle) }

  /// False once the transaction has ended, or SQLite has rolled it back by itself.
  package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  /// Ends the running statement as `.interrupted`. For tests only: production never interrupts a write.
  package func interrupt() { unsafe sqlite3_interrupt(handle) }

  package enum CheckpointMode: Sendable { case passive, restart, truncate }

  /// Copies the log of one attached file into the file. Returns the frames in the log; nil if it was locked.
  package func checkpoint(_ schema: String, _ mode: CheckpointMode) throws(SQLiteError) -> Int? {
    let flag =
      switch mode {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .restart: SQLITE_CHECKPOINT_RESTART
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    var frameCount: Int32 = 0
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, schema, flag, &frameCount, nil)
    if code & 0xFF == SQLITE_BUSY { return nil }
    guard code == SQLITE_OK else { throw unsafe Self.error(of: handle) }
    return Int(frameCount)
  }

  private func prepare(_ sql: String, persistent: Bool) throws(SQLiteError) -> SQLiteStatement {
    var sql = sql
    var statement: OpaquePointer?
    var code = SQLITE_OK
    var hasTail = false
    let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    sql.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        var tail: UnsafePointer<CChar>?
        code = unsafe sqlite3_prepare_v3(
          handle, characters.baseAddress, Int32(characters.count), flags, &statement, &tail)
        guard let start = characters.baseAddress, let tail = unsafe tail else { return }
        let rest = unsafe characters[(tail - start)...]
        hasTail = unsafe rest.contains { !Self.spaces.contains(UInt8(bitPattern: $0)) }
      }
    }
    guard code == SQLITE_OK else { throw unsafe Self.error(of: handle) }
    guard let owned = unsafe statement, !hasTail else {
      unsafe sqlite3_finalize(statement)
      throw SQLiteError(code: SQLITE_MISUSE, message: "exactly one statement at a time")
    }
    return unsafe try SQLiteStatement(owning: owned, of: handle, text: sql)
  }

  private static let spaces: [UInt8] = Array(" \n\t\r".utf8)

  static func error(of handle: OpaquePointer) -> SQLiteError {
    let code = unsafe sqlite3_extended_errcode(handle)
    if code & 0xFF == SQLITE_CANTOPEN, unsafe sqlite3_system_errno(handle) == EACCES {
      return SQLiteError(code: SQLITE_PERM, message: "the log beside the database")
    }
    return SQLiteError(code: code, message: unsafe String(cString: sqlite3_errmsg(handle)))
  }

  /// Escapes a path for a URI (https://sqlite.org/uri.html), where `%`, `?` and `#` would end or change it.
  private static func escaped(_ path: String) -> String {
    path.utf8.map { byte in
      let plain = byte > 0x20 && byte < 0x7F && !"%?#".utf8.contains(byte)
      return plain ? String(UnicodeScalar(byte)) : "%" + Hex.encode([byte])
    }.joined()
  }
}
