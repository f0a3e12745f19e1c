import CSQLite

/// Copies a file as a connection's open transaction sees it, while other connections write
/// (https://sqlite.org/c3ref/backup_finish.html).
extension SQLiteConnection {
  /// The pages of one step. After each, `each` gets the number of copied pages and of all pages.
  private static let copiedPageCount: Int32 = 256

  /// Copies one attached file into an empty one.
  ///
  /// Without a transaction any commit would restart the copy. It is not durable yet when this returns.
  package func copy(
    _ schema: String, to file: String, each: (_ done: Int, _ of: Int) -> Void
  ) throws(SQLiteError) {
    guard isInTransaction else {
      throw SQLiteError(code: SQLITE_MISUSE, message: "a copy without a snapshot")
    }
    let target = try SQLiteConnection(file: file, busyTimeoutMilliseconds: 0)
    // The caller makes the whole file durable. Before that, it is not used as a database.
    try target.execute("PRAGMA main.synchronous = OFF")
    guard let copy = unsafe sqlite3_backup_init(target.handle, "main", handle, schema) else {
      throw unsafe Self.error(of: target.handle)
    }
    var code = SQLITE_OK
    while code == SQLITE_OK {
      code = unsafe sqlite3_backup_step(copy, Self.copiedPageCount)
      let total = unsafe Int(sqlite3_backup_pagecount(copy))
      let left = unsafe Int(sqlite3_backup_remaining(copy))
      each(total - left, total)
    }
    unsafe sqlite3_backup_finish(copy)
    guard code == SQLITE_DONE else {
      throw unsafe SQLiteError(code: code, message: String(cString: sqlite3_errstr(code)))
    }
  }
}
