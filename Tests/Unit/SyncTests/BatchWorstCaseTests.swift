import Accounts
import Base
import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The cost of the most expensive batches while locks are held, in statements and rows; counted, not timed.
///
/// The bounds are those of `WorkBudget`: 40,000 while a batch is judged and nothing is locked, 8,000 if it
/// has to be judged under the locks, 16,000 while it is written.
@Suite struct BatchWorstCaseTests {
  private static let writtenMax: Int64 = 16_000

  private func server(_ engine: TestEngine) throws -> TestServer {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 10_000
    limits.invitationsPerDay = 10_000
    limits.receivedInvitationCountMax = 10_000
    return try TestServer(engine, freeByteCount: 1_000_000_000, limits: limits)
  }

  /// The work that `body` did in the database under its locks.
  private func work(
    _ server: TestServer, _ body: () throws -> Void
  ) rethrows -> DatabaseWork {
    let before = server.database.writeWork
    try body()
    return server.database.writeWork - before
  }

  @Test(arguments: TestEngine.available)
  func `grants look for links beneath their folders once, and not under a lock`(
    engine: TestEngine
  ) throws {
    let server = try server(engine)
    let (alice, bob) = (try server.register(), try server.register())
    for _ in 0..<256 {
      let chain = PlantedFile.chain(100, in: alice.root)
      try server.plant(
        chain + [
          PlantedFile(
            id: Random.identifier(), parent: chain[99].id, kind: "link",
            target: Random.identifier())
        ], of: alice)
    }
    let folders = (0..<60).flatMap { _ in PlantedFile.chain(1, in: alice.root) }
    try server.plant(folders, of: alice)
    let grants = try folders.map { ShareChange.grant($0.id, to: try bob.account) }
    let reads = server.database.readWork
    let written = try work(server) { try alice.batch(shares: grants).requireSuccess() }
    let read = server.database.readWork - reads
    #expect(written.returnedRowCount + written.statementCount < 2000)
    #expect(read.returnedRowCount < 30_000)
  }

  @Test(arguments: TestEngine.available)
  func `folders that move into view give no more than 1,000 files new numbers, together`(
    engine: TestEngine
  ) throws {
    let server = try server(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let shared = try alice.add("folder")
    try alice.share(shared, with: bob)
    var seen = try bob.pulled()
    var moves: [FileChange] = []
    for _ in 0..<10 {
      let (folder, _) = try alice.create("folder")
      try server.plant((0..<300).map { _ in PlantedFile.document(in: folder) }, of: alice)
      moves.append(try alice.record(folder).change { $0.parent = shared })
    }
    let written = try work(server) { try alice.batch(files: moves).requireSuccess() }
    #expect(written.changedRowCount < 1200)
    try seen.pull()
    #expect(seen.children(of: shared).count == 10)
    #expect(try seen.ids == bob.pulled().ids)
    #expect(seen.ids.count == 1 + 1 + 1 + 10 * 301)
  }

  @Test(arguments: TestEngine.available)
  func `folders that move out of view leave no more than 1,000 departures, together`(
    engine: TestEngine
  ) throws {
    let server = try server(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let shared = try alice.add("folder")
    let folders = try (0..<10).map { _ in try alice.add("folder", in: shared) }
    for folder in folders {
      try server.plant((0..<300).map { _ in PlantedFile.document(in: folder) }, of: alice)
    }
    try alice.share(shared, with: bob)
    var seen = try bob.pulled()
    let moves = try folders.map { try alice.record($0).change { $0.parent = alice.root } }
    let written = try work(server) { try alice.batch(files: moves).requireSuccess() }
    #expect(written.changedRowCount < 1200)
    try seen.pull()
    #expect(seen.children(of: shared) == [])
    #expect(try seen.ids == bob.pulled().ids)
  }

  @Test(arguments: TestEngine.available)
  func `shares accepted together bring no more than 1,000 files into view with new numbers`(
    engine: TestEngine
  ) throws {
    let server = try server(engine)
    let (alice, bob) = (try server.register(), try server.register())
    var links: [FileChange] = []
    for _ in 0..<10 {
      let folder = try alice.add("folder")
      try server.plant((0..<300).map { _ in PlantedFile.document(in: folder) }, of: alice)
      try alice.grant(folder, to: bob.account).requireSuccess()
      links.append(try bob.creation("link", target: folder))
    }
    var seen = try bob.pulled()
    let written = try work(server) { try bob.batch(files: links).requireSuccess() }
    #expect(written.changedRowCount < 1300)
    try seen.pull()
    #expect(try seen.ids == bob.pulled().ids)
    #expect(seen.ids.count == 1 + 10 + 10 * 301)
  }

  @Test(arguments: TestEngine.available)
  func `a refused batch locks nobody, whatever it looked at`(engine: TestEngine) throws {
    let server = try server(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folders = try (0..<3).map { _ in try alice.add("folder") }
    let grants = try folders.map { ShareChange.grant($0, to: try bob.account) }
    let wrong = ShareChange.grant(Random.identifier(), to: try bob.account)
    let written = try work(server) {
      for _ in 0..<3 {
        let answer = try alice.batch(shares: grants + [wrong])
        guard try answer.rules == ["file_not_found"] else { throw UnexpectedAnswer(answer) }
      }
    }
    #expect(written == DatabaseWork())
  }

  @Test(arguments: TestEngine.mainly(.sqlite))
  func `a batch whose files lie in too many deep folders is refused, and taken in parts`(
    engine: TestEngine
  ) throws {
    let server = try server(engine)
    let alice = try server.register()
    var files: [FileChange] = []
    for _ in 0..<500 {
      let chain = PlantedFile.chain(100, in: alice.root)
      try server.plant(chain, of: alice)
      files.append(try alice.creation(parent: chain[99].id))
    }
    let refused = try alice.batch(files: files)
    #expect(refused.status == 422)
    #expect(try refused.problem == "batch_too_costly")
    for part in 0..<10 {
      let answer = try alice.batch(files: Array(files[(part * 50)..<(part * 50 + 50)]))
      #expect(answer.status == 200)
    }
  }

  @Test(arguments: TestEngine.available)
  func `heights in doubt are counted for one batch together`(engine: TestEngine) throws {
    let server = try server(engine)
    let alice = try server.register()
    let deep = PlantedFile.chain(100, in: alice.root)
    try server.plant(deep, of: alice)
    var moves: [FileChange] = []
    for _ in 0..<10 {
      // The folder was deep once, so its height has to be counted before it moves.
      let id = Random.identifier()
      try server.plant(
        [PlantedFile(id: id, parent: alice.root, height: 100)]
          + (0..<2000).map { _ in PlantedFile.document(in: id) }, of: alice)
      let hmac = id.bytes + id.bytes
      moves.append(
        FileChange(
          expect: .at(parent: alice.root, hmac: hmac),
          FileStatement(
            id: id, owner: try alice.account, parent: deep[90].id, type: "folder",
            name: .init(hmac: hmac))))
    }
    #expect(try alice.batch(files: moves).problem == "batch_too_costly")
    #expect(try alice.batch(files: [moves[0]]).status == 200)
    #expect(try alice.batch(files: Array(moves[1...2])).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `revoking 200 accounts' shares of a deep folder stays within the bound`(
    engine: TestEngine
  ) throws {
    let server = try server(engine)
    let alice = try server.register()
    let deep = PlantedFile.chain(120, in: alice.root)
    try server.plant(deep, of: alice)
    try server.plantShares(of: deep[119].id, count: 200, state: "accepted")
    let accounts = try server.database.read { reader in
      try reader.rows(
        "SELECT account_id FROM sync.shares WHERE file_id = $1", .id(deep[119].id)
      ) { try $0.id(0) }
    }
    // All of them see something else, too, so that each departure has to be determined.
    let other = try alice.add("folder")
    try server.database.write(for: nil) { transaction in
      for account in accounts {
        try transaction.execute(
          """
          INSERT INTO sync.shares (file_id, account_id, owner_id, mode, state, share_key, author_key,
            signature, seq, changed_ms)
          SELECT id, $2, owner_id, 'read', 'accepted', id, id, id, 0, 0 FROM sync.files
          WHERE id = $1
          """, .id(other), .id(account))
        try transaction.execute(
          """
          INSERT INTO sync.views (account_id, owner_id, number, from_seq)
          SELECT $2, owner_id, 1, 0 FROM sync.files WHERE id = $1
          """, .id(other), .id(account))
      }
    }
    let revocations = accounts.map {
      ShareChange(
        expect: "accepted", ShareStatement(file: deep[119].id, account: $0, state: .revoked))
    }
    let written = try work(server) { try alice.batch(shares: revocations).requireSuccess() }
    #expect(
      written.statementCount + written.returnedRowCount + written.changedRowCount
        <= Self.writtenMax)
  }
}
