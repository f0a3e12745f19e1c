import Base
import Crypto
import SeededRandom
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

@Suite struct RecountTests {
  @Test(arguments: TestEngine.available, [false, true])
  func `what changes between two slices is counted once`(
    engine: TestEngine, isKept: Bool
  ) throws {
    let server = try TestServer(
      engine,
      freeLimits: isKept
        ? .init(historyDays: 30, historyVersionCount: 2, trashDays: 30) : .init())
    let writer = try BusyWriter(server)
    let fee = server.catalogue.metadataFeeByteCount
    for round in 0..<6 {
      let account = try writer.device.account
      let begun = try server.database.read { reader in
        try UsageAudit(reader, account, fee: fee, protocols: [FileTrees.self], sliceRowCount: 4)
      }
      var audit = try #require(begun)
      while !audit.isRead {
        try server.database.read { try audit.readSlice($0) }
        try writer.write(times: round)
      }
      let finding = try #require(try server.database.read { try audit.settle($0) })
      #expect(finding.isRight, "seed \(writer.seed), round \(round): \(finding)")
      let single = try #require(try server.database.read { try writer.recounted($0) })
      #expect(finding.trueByteCount == single)
    }
  }

  @Test(arguments: TestEngine.available)
  func `a wrong total and a wrong count are corrected while a writer writes`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let writer = try BusyWriter(server)
    let account = try writer.device.account
    try corrupt(server, account, bytes: 12_345, records: -2)
    let isStopped = Locked(false)
    let thread = Thread {
      while !isStopped.withLock({ $0 }) { try? writer.write(times: 1) }
    }
    let recount = Recount(
      server.database, catalogue: server.catalogue, protocols: [FileTrees.self], sliceRowCount: 5)
    let finding = try #require(try recount.correct(account, now: server.clock.now))
    isStopped.withLock { $0 = true }
    thread.join()
    #expect(finding.trueByteCount - finding.recordedByteCount == -12_345)
    #expect(finding.trueRecordCount - finding.recordedRecordCount == 2)
    let after = try #require(try recount.audit(account))
    #expect(after.isRight, "seed \(writer.seed): \(after)")
  }

  @Test(arguments: TestEngine.available)
  func `what is right is left as it is`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let account = try BusyWriter(server).device.account
    try corrupt(server, account, bytes: 500, records: 0)
    let recount = Recount(server.database, catalogue: server.catalogue, protocols: [FileTrees.self])
    _ = try recount.correct(account, now: server.clock.now)
    let first = try #require(try recount.audit(account))
    #expect(try recount.correct(account, now: server.clock.now) == first)
    #expect(try recount.audit(account) == first)
    #expect(first.ledger["recount"]?.entryCount == 1)
  }

  @Test(arguments: TestEngine.available)
  func `two recounts at a time correct once`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let writer = try BusyWriter(server)
    let account = try writer.device.account
    try corrupt(server, account, bytes: 777, records: 1)
    let now = server.clock.now
    let recount = Recount(server.database, catalogue: server.catalogue, protocols: [FileTrees.self])
    let one = try #require(try recount.audit(account))
    try writer.write(times: 3)
    let other = try #require(try recount.audit(account))
    #expect(try server.database.write(for: account) { try one.post($0, now: now) })
    try writer.write(times: 3)
    #expect(try !server.database.write(for: account) { try other.post($0, now: now) })
    #expect(try recount.audit(account)?.isRight == true)
  }

  @Test(arguments: TestEngine.available)
  func `a ledger that lost an entry agrees again with total and rows`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let account = try device.account
    let (id, _) = try device.create()
    _ = try device.put(id, Random.bytes(400), ifMatch: "*")
    try server.database.write(for: account) { transaction in
      _ = try transaction.execute(
        "DELETE FROM sync.usage_entries WHERE owner_id = $1 AND reason = 'content_changed'",
        .id(account))
    }
    let recount = Recount(server.database, catalogue: server.catalogue, protocols: [FileTrees.self])
    let finding = try #require(try recount.correct(account, now: server.clock.now))
    #expect(finding.recordedByteCount == 2400 && finding.ledgerByteCount == 2000)
    let after = try #require(try recount.audit(account))
    #expect(after.isRight && after.recordedByteCount == 2400)
    #expect(after.ledger["recount"]?.byteCount == 400)
  }

  @Test func `clients do not notice a correction`() throws {
    let server = try TestServer()
    let device = try server.register()
    var replica = Replica(device)
    try replica.pull()
    try corrupt(server, try device.account, bytes: 5, records: 5)
    let recount = Recount(server.database, catalogue: server.catalogue, protocols: [FileTrees.self])
    _ = try recount.correct(try device.account, now: server.clock.now)
    let before = replica.records
    try replica.pull()
    #expect(replica.records == before && replica.troubles == [])
    #expect(try device.create().answer.status == 200)
    try replica.pull()
    #expect(replica.ids.count == 2)
  }

  @Test func `an account that is not there has nothing to count`() throws {
    let server = try TestServer()
    let recount = Recount(server.database, catalogue: server.catalogue, protocols: [FileTrees.self])
    #expect(try recount.correct(Random.identifier(), now: server.clock.now) == nil)
  }

  private func corrupt(
    _ server: TestServer, _ account: Identifier, bytes: Int64, records: Int64
  ) throws {
    try server.database.write(for: account) { transaction in
      _ = try transaction.execute(
        """
        UPDATE sync.accounts SET usage_bytes = usage_bytes + $2, record_count = record_count + $3
        WHERE id = $1
        """, .id(account), .integer(bytes), .integer(records))
      _ = try transaction.execute(
        """
        UPDATE sync.usage_entries SET delta_bytes = delta_bytes + $2
        WHERE owner_id = $1 AND seq = 1
        """, .id(account), .integer(bytes))
    }
  }
}

/// A device that creates, writes, moves and deletes at random; its account begins with 20 files.
private final class BusyWriter: Sendable {
  let device: TestDevice
  let seed: UInt64
  private let state: Locked<State>

  private struct State {
    var random: SeededGenerator
    var documents: [Identifier] = []
    var folders: [Identifier]
  }

  init(_ server: TestServer) throws {
    seed = UInt64.random(in: 0...UInt64.max)
    print("recount seed \(seed)")
    let device = try server.register()
    var random = SeededGenerator(seed: seed)
    let folder = try device.creation("folder")
    let files = try (0..<19).map { index in
      try device.creation(parent: index % 2 == 0 ? folder.file.id : nil)
    }
    let answer = try device.batch(files: [folder] + files)
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    for file in files.prefix(5) {
      let size = Int.random(in: 0...3000, using: &random)
      _ = try device.put(file.file.id, Random.bytes(size), ifMatch: "*")
    }
    self.device = device
    state = Locked(
      State(
        random: random, documents: files.map(\.file.id), folders: [device.root, folder.file.id]))
  }

  func write(times count: Int) throws {
    for _ in 0..<count { try state.withLock { try writeOnce(&$0) } }
  }

  private func writeOnce(_ state: inout State) throws {
    guard let document = state.documents.randomElement(using: &state.random),
      let folder = state.folders.randomElement(using: &state.random)
    else { return }
    let answer: Answer
    switch Int.random(in: 0..<6, using: &state.random) {
    case 0:
      let created = try device.create(parent: folder)
      state.documents.append(created.id)
      answer = created.answer
    case 1 where state.documents.count > 5:
      state.documents.removeAll { $0 == document }
      answer = try device.delete(document)
    case 2: answer = try device.move(document, to: folder)
    default:
      let size = Int.random(in: 0...3000, using: &state.random)
      answer = try device.put(document, Random.bytes(size), ifMatch: "*")
    }
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
  }

  /// The usage of the account's rows, computed by one statement.
  func recounted(_ reader: Reader) throws -> Int64? {
    try reader.first(
      """
      SELECT CAST(sum(content_bytes) + 1000 * count(*) + (
          SELECT coalesce(sum(content_bytes), 0) FROM sync.versions WHERE owner_id = $1) AS BIGINT)
      FROM sync.files WHERE owner_id = $1 AND (deleted = 0 OR trash_id IS NOT NULL)
      """, .id(try device.account)
    ) { row in try row.integer(0) }
  }
}
