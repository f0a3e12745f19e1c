package import Accounts
package import Archive
package import Base
import Endpoints
import HTTPMessages
package import HTTPServer
import JSON
import Requests
package import Storage

/// The door for clients of Actual: their own protocol over message logs, at the root of hosts of its own.
///
/// A budget file is a log with a snapshot, its group is the log's epoch. A client logs in with an app password, and has
/// a right to the budgets of that account only. Budgets are charged as logs.
package struct ActualDoor: ProtocolRoom {
  package static let name = "actual"
  package static let remedy = "coffer log list <account>"

  let host: ProtocolHost
  private let upload: ActualUpload

  private static let bodyByteCountMax = 64 << 10

  package init(_ host: ProtocolHost) {
    self.host = host
    upload = ActualUpload(host: host)
  }

  /// None unless the operator has named a host.
  package var routes: [Route] {
    guard !host.actualAuthorities.isEmpty else { return [] }
    return accountRoutes + fileRoutes + appRoutes + [
      syncRoute,
      route("POST", "/sync/upload-user-file") { head in
        let credentials = try credentials(head)
        return try host.database.step(after: host.gate.inquiry(credentials)) {
          try upload.admission(head, credentials)
        }
      },
    ]
  }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try transaction.eraseSlice(
      of: "actual_files", by: "owner_id, file", where: "owner_id", is: account)
      || transaction.eraseSlice(
        of: "actual_epochs", by: "epoch_id", where: "owner_id", is: account)
  }

  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    let files = try ActualFile.all(reader, of: account)
    guard !files.isEmpty else { return ProtocolExport() }
    let list: JSONValue = ["budgets": .array(files.map(\.movedJSON))]
    try archive.add(ArrivingBudgets.list, list.encoded())
    return ProtocolExport()
  }

  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    try database.read { reader in
      let logs = Set(try MessageLog.all(reader, of: account).map(\.id))
      return try ActualFile.all(reader, of: account).filter { !logs.contains($0.log) }
        .map { "the budget \($0.file) of \(account) has no log" }
    }
  }
}

// MARK: - Routes

extension ActualDoor {
  /// A route on the door's hosts. On any other host there is nothing at its path.
  func route(
    _ method: String, _ path: String,
    _ admit: @escaping @Sendable (RequestHead) throws -> Step<Admission>
  ) -> Route {
    Route(method, path) { head, _ in
      guard host.actualAuthorities.contains(head.authority) else { throw Problem.notFound }
      return try Self.translating { try admit(head) }
        .then { (admission: Admission) throws -> Step<Admission> in
          .ready(
            Admission(
              body: admission.body,
              finish: { bytes in try Self.translating { try admission.finish(bytes) } },
              abandon: admission.abandon))
        }
    }
  }

  /// Refusals of Coffer's own become those that the clients know.
  private static func translating<Value>(
    _ start: () throws -> Step<Value>
  ) throws -> Step<Value> {
    let step: Step<Value>
    do { step = try start() } catch { throw translated(error) }
    return try step.then { (result: Result<Value, any Error>) throws -> Step<Value> in
      .ready(try result.mapError(translated).get())
    }
  }

  private static func translated(_ error: any Error) -> any Error { ActualRefusal(error) ?? error }

  /// A request that gets the same answer whoever sends it.
  func fixed(_ path: String, _ response: Response) -> Route {
    route("GET", path) { _ in .ready(Admission(body: .none) { _ in .ready(response) }) }
  }

  static func json(_ value: JSONValue) -> Response {
    Response(
      status: 200, headers: [("Content-Type", "application/json; charset=utf-8")],
      body: .bytes(value.encoded()))
  }

  static func text(_ type: String, _ text: String) -> Response {
    Response(
      status: 200, headers: [("Content-Type", "\(type); charset=utf-8")],
      body: .bytes(Array(text.utf8)))
  }

  static var done: JSONValue { ["status": "ok"] }

  static func done(_ data: JSONValue) -> JSONValue { ["status": "ok", "data": data] }

  /// Who sends a request: by the token in its JSON if there is one, else by the one in its headers.
  func credentials(_ head: RequestHead, _ body: JSON? = nil) throws -> Credentials {
    let token =
      body?["token"].string.flatMap { $0.isEmpty ? nil : $0 }
      ?? head.headers.text("x-actual-token")
    guard let token, !token.isEmpty else { throw ActualRefusal.tokenNotFound }
    let hash = Credentials.hash(token: Array(token.utf8))
    return Credentials(
      proof: .app(tokenHash: hash), meter: try host.gate.meter(ofSecret: hash, head))
  }

  /// A `GET` that only reads.
  func get(
    _ path: String,
    _ answer: @escaping @Sendable (RequestHead, Caller, Reader) throws -> JSONValue
  ) -> Route {
    route("GET", path) { head in
      let credentials = try credentials(head)
      return .ready(
        Admission(body: .none) { _ in
          read(credentials) { caller, reader in Self.json(try answer(head, caller, reader)) }
        })
    }
  }

  /// A `POST` of JSON that only reads.
  func ask(
    _ path: String, _ answer: @escaping @Sendable (JSON, Caller, Reader) throws -> JSONValue
  ) -> Route {
    post(path) { head, body in
      read(try credentials(head, body)) { caller, reader in
        Self.json(try answer(body, caller, reader))
      }
    }
  }

  /// A `POST` of JSON that changes something.
  func change(
    _ path: String,
    _ change: @escaping @Sendable (JSON, LogWrite, inout LockedOwners) throws -> Void
  ) -> Route {
    post(path) { head, body in
      let credentials = try credentials(head, body)
      return .pending { done in
        host.database.submitWrite(
          for: credentials.lane,
          { transaction in
            try write(credentials, transaction) { write, owners in
              try change(body, write, &owners)
            }
          }
        ) { result in done(result.map { Self.json(Self.done) }) }
      }
    }
  }

  func post(
    _ path: String, _ answer: @escaping @Sendable (RequestHead, JSON) throws -> Step<Response>
  ) -> Route {
    route("POST", path) { head in
      .ready(
        Admission(body: .memory(byteCountMax: Self.bodyByteCountMax)) { bytes in
          guard let body = try? JSON.parse(bytes.isEmpty ? Array("{}".utf8) : bytes), body.isObject
          else { throw ActualRefusal.bodyInvalid }
          return try answer(head, body)
        })
    }
  }

  func read<Value: Sendable>(
    _ credentials: Credentials, _ body: @escaping @Sendable (Caller, Reader) throws -> Value
  ) -> Step<Value> {
    .pending { done in
      host.database.submitRead(
        for: credentials.lane,
        { reader in
          defer {
            credentials.meter.charge(Price.rows(reader.work.rowCount), for: .reading)
          }
          return try body(Caller(reader, credentials, now: host.clock.now()), reader)
        }, completion: done)
    }
  }

  func write<Value>(
    _ credentials: Credentials, _ transaction: Transaction,
    _ change: (LogWrite, inout LockedOwners) throws -> Value
  ) throws -> Value {
    defer {
      credentials.meter.charge(Price.rows(transaction.work.rowCount), for: .writing)
    }
    let now = host.clock.now()
    var locked = try LockedCaller(transaction, credentials, now: now)
    try AppPassword.noteUse(transaction, ofToken: credentials.proof.key, now: now)
    let write = LogWrite(
      host: host, transaction: transaction, account: locked.caller.account, now: now)
    return try change(write, &locked.owners)
  }
}
