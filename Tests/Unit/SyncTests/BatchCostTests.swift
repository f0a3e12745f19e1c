import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The statements and rows that everyday batches read before anything is locked; counted, not timed.
@Suite struct BatchCostTests {
  /// The reads of one batch before it locks anything.
  private func judged(
    _ server: TestServer, _ body: () throws -> Answer
  ) throws -> DatabaseWork {
    let before = server.database.readWork
    try body().requireSuccess()
    return server.database.readWork - before
  }

  @Test(arguments: TestEngine.available)
  func `a batch is judged by few statements, however many changes it has`(engine: TestEngine) throws
  {
    let server = try TestServer(engine)
    let alice = try server.register()
    let others = try (0..<5).map { _ in try server.register() }
    let deep = try alice.addChain(6)
    let folders = try (0..<10).map { _ in try alice.add("folder", in: deep[5]) }
    let files = try (0..<10).map { _ in try alice.add(in: deep[5]) }
    _ = try alice.updates()
    var costs: [String] = []
    func note(_ name: String, _ body: () throws -> Answer) throws {
      let work = try judged(server, body)
      costs.append("\(name): \(work.statementCount) statements, \(work.returnedRowCount) rows")
    }
    try note("1 creation") { try alice.batch(files: [alice.creation(parent: deep[5])]) }
    try note("50 creations") {
      try alice.batch(files: (0..<50).map { _ in try alice.creation(parent: deep[5]) })
    }
    try note("10 creations in 10 folders") {
      try alice.batch(files: folders.map { try alice.creation(parent: $0) })
    }
    let rename = try alice.record(files[0]).change { $0.name = .init(hmac: Random.bytes(32)) }
    try note("1 rename") { try alice.batch(files: [rename]) }
    let moves = try files.map { try alice.record($0).change { $0.parent = folders[0] } }
    try note("10 moves") { try alice.batch(files: moves) }
    let folderMove = try alice.record(folders[9]).change { $0.parent = folders[0] }
    try note("1 folder's move") { try alice.batch(files: [folderMove]) }
    let grants = try others.map { ShareChange.grant(folders[1], to: try $0.account) }
    try note("5 grants") { try alice.batch(shares: grants) }
    let link = try others[0].creation("link", target: folders[1])
    try note("1 link") { try others[0].batch(files: [link]) }
    let deletions = try files.map { try alice.record($0).change { $0.deleted = true } }
    try note("10 deletions") { try alice.batch(files: deletions) }
    #expect(
      costs == [
        "1 creation: 8 statements, 9 rows",
        "50 creations: 8 statements, 9 rows",
        "10 creations in 10 folders: 17 statements, 19 rows",
        "1 rename: 7 statements, 10 rows",
        "10 moves: 7 statements, 23 rows",
        "1 folder's move: 7 statements, 14 rows",
        "5 grants: 34 statements, 20 rows",
        "1 link: 10 statements, 12 rows",
        "10 deletions: 6 statements, 20 rows",
      ])
  }
}
