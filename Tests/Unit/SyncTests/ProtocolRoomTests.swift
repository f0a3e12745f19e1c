import Accounts
import Archive
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// A protocol takes part in coffer-sync by its line in the list: here with one that keeps nothing, and one that
/// keeps a row for each account.
@Suite struct ProtocolRoomTests {
  @Test func `beside a protocol that is empty, file trees work as alone`() throws {
    let server = try TestServer(protocols: [FileTrees.self, EmptyRoom.self])
    let alone = try TestServer(protocols: [FileTrees.self])
    #expect(server.api.routes.map(\.pattern) == alone.api.routes.map(\.pattern))
    let device = try server.register()
    let folder = try device.add("folder")
    _ = try device.add(in: folder)
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    try server.sweeper().sweep()
    let account = try device.account
    try erase(device, server)
    #expect(try server.count("files", of: account) == 0)
    #expect(try FileTrees.faults(of: account, in: server.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `a protocol's routes, upkeep and erasure take part`(engine: TestEngine) throws {
    let server = try TestServer(engine, protocols: [FileTrees.self, ProbeRoom.self])
    let (ada, bob) = (try server.register(), try server.register())
    let account = try ada.account
    #expect(try ada.get("/v1/probe").status == 204)
    for device in [ada, bob] { try server.probe(of: device.account, ProbeRoom.countAtOnce * 2 + 1) }
    try server.sweepDeletions()
    #expect(try server.count("transfers", of: ada.account) == ProbeRoom.countAtOnce * 2)
    try erase(ada, server)
    #expect(try server.count("transfers", of: account) == 0)
    #expect(try server.count("transfers", of: bob.account) == ProbeRoom.countAtOnce * 2)
    #expect(try bob.get("/v1/probe").status == 204)
    #expect(try ada.get("/v1/probe").status == 401)
  }

  @Test func `an erasure waits for a protocol that has more to erase`() throws {
    let server = try TestServer(protocols: [ProbeRoom.self])
    let ada = try server.register()
    try server.probe(of: ada.account, ProbeRoom.countAtOnce * 3)
    let account = try ada.account
    #expect(try ada.send(ada.sign("DELETE", "/v1/account")).status == 202)
    server.clock.advance(.days(8))
    var left: [Int64?] = []
    while try server.isErasing(account) {
      _ = try server.sweeper().sweepErasure()
      left.append(try server.count("transfers", of: account))
      try #require(left.count < 20)
    }
    let once = ProbeRoom.countAtOnce
    #expect(left.filter { $0 != once * 3 }.prefix(3) == [once * 2, once, 0])
  }

  private func erase(_ device: TestDevice, _ server: TestServer) throws {
    #expect(try device.send(device.sign("DELETE", "/v1/account")).status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
  }
}

/// A protocol that has nothing to export or to check.
private protocol BareRoom: ProtocolRoom {}

extension BareRoom {
  static var remedy: String { "" }

  static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport { ProtocolExport() }
}

/// Brings nothing.
private struct EmptyRoom: BareRoom {
  static let name = "empty"
  let routes: [Route] = []
  let upkeep: [Upkeep] = []

  init(_ host: ProtocolHost) {}

  static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool { false }
}

/// Brings a route, and keeps rows for an account, of which upkeep removes those of month 0.
private struct ProbeRoom: BareRoom {
  static let name = "probe"
  static let countAtOnce: Int64 = 3
  let host: ProtocolHost

  init(_ host: ProtocolHost) { self.host = host }

  var routes: [Route] { [GetProbe(gate: host.gate).route(on: host.database)] }

  var upkeep: [Upkeep] {
    [
      Upkeep("probe", isUrgent: true) {
        try host.database.write(for: nil) { transaction in
          try transaction.execute("DELETE FROM sync.transfers WHERE month = 0") > 0
        }
      }
    ]
  }

  static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try transaction.execute(
      """
      DELETE FROM sync.transfers WHERE owner_id = $1 AND month IN (
        SELECT month FROM sync.transfers WHERE owner_id = $1 LIMIT $2)
      """, .id(account), .integer(countAtOnce)) > 0
  }
}

private struct GetProbe: AccountRead {
  let gate: RequestGate
  let pattern = "/v1/probe"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> Identifier {
    try Caller(reader, request.credentials, now: now).account
  }

  func respond(_ account: Identifier, to request: AccountRequest) -> Response {
    Response(status: 204, headers: [], body: .bytes([]))
  }
}

extension TestServer {
  /// Adds rows of the probe's, one of which its upkeep removes.
  fileprivate func probe(of account: Identifier, _ count: Int64) throws {
    try database.write(for: nil) { transaction in
      for month in 0..<count {
        try transaction.execute(
          "INSERT INTO sync.transfers (owner_id, month, sent_bytes, received_bytes) VALUES ($1, $2, 0, 0)",
          .id(account), .integer(month))
      }
    }
  }

  fileprivate func count(_ table: String, of account: Identifier) throws -> Int64? {
    try database.read { reader in
      try reader.first(
        "SELECT count(*) FROM sync.\(table) WHERE owner_id = $1", .id(account)
      ) { row in try row.integer(0) }
    }
  }

  fileprivate func isErasing(_ account: Identifier) throws -> Bool {
    try database.read { reader in
      try reader.first(
        "SELECT 1 FROM sync.account_deletions WHERE account_id = $1 AND erased_ms IS NULL",
        .id(account)
      ) { _ in true } ?? false
    }
  }
}
