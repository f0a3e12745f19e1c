package import Base
import CPostgres
import Glibc

/// One connection to PostgreSQL with its prepared statements, for one thread at a time.
///
/// libpq runs in non-blocking mode and every wait has a deadline, so a server that stops answering
/// costs a connection, never a thread. Not Sendable: pools hand it from thread to thread.
@safe
package final class PostgresConnection {
  /// True once the connection can no longer be used.
  package private(set) var isLost = false

  private let handle: OpaquePointer
  private let answerWait: Instant.Span
  private var cache: [StatementKey: String] = [:]
  private var statementCount = 0
  /// Statements that are prepared on the server but no longer in the cache.
  private var stale: [String] = []

  /// The types are part of a prepared statement, so they are part of its key.
  private struct StatementKey: Hashable {
    let sql: String
    let types: [UInt32]
  }

  private static let cachedStatementCountMax = 512
  private static let wasLost = "the connection to PostgreSQL was lost"

  /// Connects within about `connectSeconds`; later answers may take `answerWait` each.
  package init(url: Secret, connectSeconds: Int, answerWait: Instant.Span) throws(PostgresError) {
    // Settings after "dbname" override those in the URL.
    var settings: [(String, String)] = [
      ("dbname", String(decoding: url.exposed, as: UTF8.self)),
      ("connect_timeout", String(max(2, connectSeconds))),
      ("client_encoding", "UTF8"), ("fallback_application_name", "coffer"),
      ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
      ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
    ]
    if let mode = PostgresSecurity.mode(of: url) { settings.append(("sslmode", mode)) }
    guard let opened = unsafe Self.open(settings) else {
      throw .lost("libpq has no memory for a connection")
    }
    guard unsafe PQstatus(opened) == CONNECTION_OK, unsafe PQsetnonblocking(opened, 1) == 0 else {
      let message = unsafe String(cString: PQerrorMessage(opened))
      let address = unsafe Self.address(of: opened)
      unsafe PQfinish(opened)
      throw .lost("\(Self.reason(message)) (\(address))")
    }
    // Notices would go to stderr, past the log.
    _ = unsafe PQsetNoticeProcessor(opened, { _, _ in }, nil)
    self.answerWait = answerWait
    unsafe handle = unsafe opened
  }

  deinit { unsafe PQfinish(handle) }

  /// Runs statements without parameters, one after the other, and ignores their rows.
  package func execute(_ sql: String) throws(PostgresError) {
    try send(unsafe PQsendQuery(handle, sql))
    _ = try receive()
  }

  /// Prepares the statement if this connection has not done so yet, and runs it.
  package func run(
    _ sql: String, _ parameters: [PostgresParameter]
  ) throws(PostgresError) -> PostgresResult {
    for parameter in parameters where parameter.type == 25 && parameter.bytes?.contains(0) == true {
      throw .misuse("text holds U+0000")
    }
    let key = StatementKey(sql: sql, types: parameters.map(\.type))
    let name = if let cached = cache[key] { cached } else { try prepare(key) }
    do {
      try sendPrepared(name, parameters)
      return try receive()
    } catch {
      if cache.removeValue(forKey: key) != nil { stale.append(name) }
      throw error
    }
  }

  /// The payloads of notifications for which the connection listens. Waits for some, at most for `span`.
  package func notifications(within span: Instant.Span) throws(PostgresError) -> [String] {
    let payloads = takeNotifications()
    guard payloads.isEmpty else { return payloads }
    guard !isLost else { throw lose() }
    var entry = pollfd(fd: unsafe PQsocket(handle), events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&entry, 1, Int32(clamping: span.milliseconds)) > 0 else { return [] }
    try consume()
    return takeNotifications()
  }

  private func takeNotifications() -> [String] {
    var payloads: [String] = []
    while let notification = unsafe PQnotifies(handle) {
      payloads.append(unsafe String(cString: notification.pointee.extra))
      unsafe PQfreemem(notification)
    }
    return payloads
  }

  /// True while a transaction is open and has not failed.
  package var isInTransaction: Bool {
    unsafe !isLost && PQtransactionStatus(handle) == PQTRANS_INTRANS
  }

  /// True when no transaction is open and the connection works.
  package var isIdle: Bool { unsafe !isLost && PQtransactionStatus(handle) == PQTRANS_IDLE }

  /// Frees the server's copies of statements that left the cache. Outside transactions only.
  package func forgetStale() throws(PostgresError) {
    while let name = stale.popLast() { try execute("DEALLOCATE \(name)") }
  }

  private func prepare(_ key: StatementKey) throws(PostgresError) -> String {
    // The program has a fixed set of statements. Beyond this bound, something builds SQL from data.
    if cache.count >= Self.cachedStatementCountMax {
      stale += cache.values
      cache.removeAll()
    }
    statementCount += 1
    let name = "s\(statementCount)"
    try send(unsafe PQsendPrepare(handle, name, key.sql, Int32(key.types.count), key.types))
    _ = try receive()
    cache[key] = name
    return name
  }

  private func sendPrepared(
    _ name: String, _ parameters: [PostgresParameter]
  ) throws(PostgresError) {
    // One buffer for all values, with one byte more, so that an empty value has an address too.
    var buffer: [UInt8] = []
    var offsets: [Int?] = []
    for parameter in parameters {
      offsets.append(parameter.bytes == nil ? nil : buffer.count)
      buffer += parameter.bytes ?? []
    }
    buffer.append(0)
    let lengths = parameters.map { Int32($0.bytes?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: parameters.count)
    let code = unsafe buffer.withUnsafeBytes { bytes in
      let start = unsafe bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
      let values = unsafe offsets.map { offset in unsafe offset.map { unsafe start + $0 } }
      return unsafe PQsendQueryPrepared(
        handle, name, Int32(parameters.count), values, lengths, formats, 1)
    }
    try send(code)
  }

  private func send(_ code: Int32) throws(PostgresError) {
    guard !isLost, code == 1 else { throw lose() }
    let deadline = MonotonicTime.now() + answerWait
    while true {
      switch unsafe PQflush(handle) {
      case 0: return
      case 1:
        // A server that is sending may have stopped reading, so its output is taken in.
        try wait(for: Int16(POLLIN | POLLOUT), until: deadline)
        try consume()
      default: throw lose()
      }
    }
  }

  /// Receives the answer to what was sent: the last of several. Throws the first error.
  private func receive() throws(PostgresError) -> PostgresResult {
    let deadline = MonotonicTime.now() + answerWait
    var last: PostgresResult?
    var failure: PostgresError?
    while true {
      while unsafe PQisBusy(handle) == 1 {
        try wait(for: Int16(POLLIN), until: deadline)
        try consume()
      }
      guard let result = unsafe PQgetResult(handle) else { break }
      switch unsafe PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
        last = unsafe PostgresResult(owning: result)
      default:
        if failure == nil { failure = unsafe Self.error(result) }
        unsafe PQclear(result)
      }
    }
    guard unsafe PQstatus(handle) == CONNECTION_OK else {
      throw lose(failure?.message ?? Self.wasLost)
    }
    if let failure { throw failure }
    guard let last else { throw lose("PostgreSQL gave no answer") }
    return last
  }

  private func consume() throws(PostgresError) {
    guard unsafe PQconsumeInput(handle) == 1 else { throw lose() }
  }

  private func wait(for events: Int16, until deadline: MonotonicTime) throws(PostgresError) {
    while true {
      let now = MonotonicTime.now()
      guard now < deadline else { throw lose("PostgreSQL did not answer in time") }
      var entry = pollfd(fd: unsafe PQsocket(handle), events: events, revents: 0)
      let milliseconds = (deadline.nanoseconds - now.nanoseconds) / 1_000_000 + 1
      let code = unsafe poll(&entry, 1, Int32(clamping: milliseconds))
      if code > 0 { return }
      guard code == 0 || errno == EINTR else { throw lose() }
    }
  }

  private func lose(_ message: String = wasLost) -> PostgresError {
    isLost = true
    return .lost(message)
  }

  private static func error(_ result: OpaquePointer) -> PostgresError {
    func field(_ code: Character) -> String? {
      guard let text = unsafe PQresultErrorField(result, Int32(code.asciiValue!)) else {
        return nil
      }
      return unsafe String(cString: text)
    }
    // PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY, PG_DIAG_CONSTRAINT_NAME: macros in libpq.
    let code = field("C") ?? ""
    return PostgresError(
      code: code, message: field("M") ?? "no message", constraint: field("n"),
      isConnectionLost: code.isEmpty)
  }

  private static func open(_ settings: [(String, String)]) -> OpaquePointer? {
    func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
      unsafe texts.map { unsafe strdup($0) } + [nil]
    }
    let keywords = unsafe strings(settings.map(\.0))
    let values = unsafe strings(settings.map(\.1))
    defer {
      for index in 0..<settings.count {
        unsafe free(keywords[index])
        unsafe free(values[index])
      }
    }
    return unsafe PQconnectdbParams(
      keywords.map { unsafe UnsafePointer($0) }, values.map { unsafe UnsafePointer($0) }, 1)
  }

  /// The host and port that were tried; for a socket, its directory.
  private static func address(of connection: OpaquePointer) -> String {
    func text(_ value: UnsafeMutablePointer<CChar>?) -> String {
      unsafe value.map { unsafe String(cString: $0) } ?? ""
    }
    let (host, port) = unsafe (text(PQhost(connection)), text(PQport(connection)))
    return "host \(host.isEmpty ? "unknown" : host), port \(port.isEmpty ? "5432" : port)"
  }

  /// The kind of connection problem that libpq reports, without quoting its message.
  private static func reason(_ message: String) -> String {
    let kinds = [
      (
        "certificate",
        "cannot verify PostgreSQL's certificate: see sslmode and sslrootcert in the URL"
      ),
      ("authentication", "PostgreSQL rejected the user or password"),
      ("pg_hba", "PostgreSQL rejected the connection: see pg_hba.conf"),
      ("Connection refused", "cannot connect to PostgreSQL: connection refused"),
      ("No such file", "cannot connect to PostgreSQL: no such socket"),
      ("does not exist", "PostgreSQL has no such database or role"),
      ("too many", "PostgreSQL has no free connection"),
      ("remaining connection slots", "PostgreSQL has no free connection"),
      ("starting up", "PostgreSQL is starting"),
      ("shutting down", "PostgreSQL is stopping"),
      ("timeout expired", "PostgreSQL does not answer"),
      ("invalid", "the PostgreSQL URL is malformed"),
      ("translate host name", "the PostgreSQL host is unknown"),
      ("SSL", "no secure connection to PostgreSQL"),
    ]
    return kinds.first { message.contains($0.0) }?.1 ?? "cannot connect to PostgreSQL"
  }
}
