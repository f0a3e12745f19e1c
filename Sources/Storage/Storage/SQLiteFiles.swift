package import Base
import Glibc
package import SQLite

/// The directory with `sync.db` and `billing.db`, and the connections to them.
///
/// A connection's own main database is empty. Both files are attached, so that `sync.` and `billing.` mean the same on
/// both engines; the one that a program does not own read-only, because BEGIN IMMEDIATE locks every writable file.
/// Every PRAGMA names its schema: unqualified it would affect only `main`.
package struct SQLiteFiles: Sendable {
  package let directory: String

  package init(directory: String) { self.directory = directory }

  package func path(of schema: Schema) -> String { "\(directory)/\(schema.rawValue).db" }
  package var lockPath: String { "\(directory)/coffer.lock" }
  /// The name of the database for operators.
  var place: String { "the database in \(directory)" }

  private static let logByteCountKept = 64 << 20

  package enum Role: Sendable {
    /// Writes the schema and reads the other.
    case writer(Schema)
    /// Reads the schema, or both if it is nil.
    case reader(Schema?)
    /// Copies the schema's log into its file.
    case checkpointer(Schema)
  }

  package func createDirectory() throws(DatabaseError) {
    if !FileOwnership.makeDirectory(directory), errno != EEXIST {
      if errno == EACCES { throw .withoutRight(to: "make", directory) }
      throw .unavailable(reason: "cannot create the directory \(directory): \(systemError())")
    }
  }

  /// Throws `.forbidden` if the file may not be read, or its directory may not be searched.
  package func has(_ schema: Schema) throws(DatabaseError) -> Bool {
    if unsafe access(path(of: schema), R_OK) == 0 { return true }
    guard errno == EACCES else { return false }
    throw .withoutRight(to: "read", path(of: schema))
  }

  /// Throws if one file is missing and the other is not empty. A start that was cut off leaves empty files.
  package func refuseHalf() throws(DatabaseError) {
    var missing: Schema?
    for schema in Schema.allCases where try !has(schema) { missing = missing ?? schema }
    guard let missing else { return }
    var status = stat()
    guard unsafe stat(path(of: missing.other), &status) == 0, status.st_size > 0 else { return }
    throw .half(of: place, without: missing)
  }

  /// Makes empty files if they are missing, readable by this user only.
  ///
  /// SQLite gives its log files the same mode. An existing file is not opened: closing it would drop the locks of this
  /// process's connections to it (https://sqlite.org/howtocorrupt.html, section 2.2).
  package func create() throws(DatabaseError) {
    for schema in Schema.allCases {
      let file = unsafe Glibc.open(path(of: schema), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if file < 0, errno == EEXIST { continue }
      guard file >= 0 else {
        throw .unavailable(reason: "cannot create \(path(of: schema)): \(systemError())")
      }
      defer { close(file) }
      guard FileOwnership.handOver(file, at: path(of: schema)) else {
        throw .unavailable(reason: "cannot give \(path(of: schema)) away: \(systemError())")
      }
    }
  }

  package func connect(
    _ role: Role, lockWait: Instant.Span
  ) throws(SQLiteError) -> SQLiteConnection {
    let connection = try SQLiteConnection(
      file: ":memory:", busyTimeoutMilliseconds: Int32(clamping: lockWait.milliseconds))
    for schema in Schema.allCases {
      guard let access = role.access(to: schema) else { continue }
      try connection.attach(path(of: schema), as: schema.rawValue, access)
      try connection.execute("PRAGMA \(schema).synchronous = FULL")
      try connection.execute("PRAGMA \(schema).cache_size = -\(role.cacheKibibytes)")
      if access == .readWrite {
        try connection.execute("PRAGMA \(schema).journal_size_limit = \(Self.logByteCountKept)")
      }
    }
    try connection.execute("PRAGMA foreign_keys = ON")
    try connection.execute("PRAGMA temp_store = MEMORY")
    if case .reader = role { connection.enforceReadDeadline() }
    return connection
  }
}

extension SQLiteFiles.Role {
  /// A connection never gives its cache's memory back, and there are several readers. Together they must stay
  /// small compared with the data that passes through them. The system's own cache holds what they miss.
  fileprivate var cacheKibibytes: Int {
    switch self {
    case .writer: 16_384
    case .reader, .checkpointer: 2048
    }
  }

  fileprivate func access(to schema: Schema) -> SQLiteConnection.Access? {
    switch self {
    case .writer(let owned): schema == owned ? .readWrite : .readOnly
    case .reader(let only): only == nil || only == schema ? .readOnly : nil
    case .checkpointer(let owned): schema == owned ? .readWrite : nil
    }
  }
}
