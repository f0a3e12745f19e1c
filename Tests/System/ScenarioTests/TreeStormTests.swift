import Base
import Configuration
import Crypto
import SeededRandom
import Storage
import TestDevices
import TestEngines
import Testing

/// Many devices on the same trees at once, with the real program.
@Suite(.serialized) struct TreeStormTests {
  private static let freeByteCount: Int64 = 1_000_000
  private static let accountCount = 4

  /// The limits on strangers' invitations are not tested here.
  private static let settings = [
    "COFFER_OPEN_INVITATIONS": "1000000", "COFFER_DAILY_INVITATIONS": "1000000",
    "COFFER_RECEIVED_INVITATIONS": "1000000",
    "COFFER_REQUESTS_PER_SECOND": "1000000",
  ]

  @Test(arguments: TestEngine.available)
  func `trees and shares changed by many at once follow from some order, and no news is skipped`(
    engine: TestEngine
  ) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "tree storm, \(engine)"))
    let installation = try Installation(engine, settings: Self.settings)
    let sync = try installation.start(.sync)
    let history = TreeHistory()
    let devices = try (0..<Self.accountCount).map { _ in try installation.device(of: sync) }
    try Self.befriend(devices, history)
    let accounts = try devices.map { try $0.account }
    let writers = zip(devices + devices, accounts + accounts).map { device, account in
      TreeWriter(
        installation.device(of: sync, key: device.key, root: device.root),
        others: accounts.filter { $0 != account }, history: history, seed: random.next())
    }
    let readers = devices.map { device in
      TreeReader(
        installation.device(of: sync, key: device.key, root: device.root), seed: random.next())
    }
    Self.run(writers, beside: readers)

    #expect(writers.flatMap(\.trouble) == [])
    // An account that is only invited to a file learns from the sweep that a folder above it was deleted.
    for reader in readers { try reader.waitForSweep() }
    for reader in readers { try reader.check(against: history) }
    #expect(readers.allSatisfy { $0.highestUsage <= Self.freeByteCount })
    #expect(history.count > Self.accountCount)
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try Books(installation).expectWhole(accountCount: Self.accountCount)
    try Self.expectNothingToCorrect(installation)
    #expect(try Deadlocks.count(in: installation) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `of many who want one name one gets it`(engine: TestEngine) throws {
    let nameCount: UInt8 = TestRun.isFull ? 200 : 25
    let installation = try Installation(engine, settings: Self.settings)
    let sync = try installation.start(.sync)
    let owner = try installation.device(of: sync)
    let (folder, made) = try owner.create("folder")
    guard made.status == 200 else { throw UnexpectedAnswer(made) }
    let sharees = try (0..<2).map { _ in try installation.device(of: sync) }
    for sharee in sharees { try owner.share(folder, with: sharee, mode: "write") }
    let account = try owner.account
    let outcomes = Locked<[[String]]>([])
    let threads = ([owner, owner] + sharees + sharees).map { device in
      Thread {
        var own: [String] = []
        for name in 0..<nameCount {
          do {
            let hmac = [UInt8](repeating: name, count: 32)
            let (_, answer) = try device.create(parent: folder, owner: account, hmac: hmac)
            own.append(answer.status == 200 ? "won" : try answer.rules.joined(separator: " "))
          } catch {
            own.append("\(error)")
          }
        }
        outcomes.withLock { $0.append(own) }
      }
    }
    for thread in threads { thread.join() }
    let all = outcomes.withLock { $0 }
    let winners = (0..<Int(nameCount)).map { name in all.count { $0[name] == "won" } }
    #expect(winners.filter { $0 != 1 } == [])
    #expect(Set(all.joined()) == ["won", "name_taken"])
    var replica = Replica(owner)
    try replica.pull()
    #expect(replica.children(of: folder).count == Int(nameCount))
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(try Deadlocks.count(in: installation) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `owner and sharees together fill the owner's cap to the last record and no further`(
    engine: TestEngine
  ) throws {
    let installation = try Installation(engine, settings: Self.settings)
    let sync = try installation.start(.sync)
    let owner = try installation.device(of: sync)
    let (folder, _) = try owner.create("folder")
    let (document, _) = try owner.create()
    // Root, folder, document and this content leave room for forty records.
    let filled = try owner.put(document, Random.bytes(957_000), ifMatch: "*")
    guard filled.status == 200 else { throw UnexpectedAnswer(filled) }
    let sharees = try (0..<2).map { _ in try installation.device(of: sync) }
    for sharee in sharees { try owner.share(folder, with: sharee, mode: "write") }
    let account = try owner.account
    let isOver = Locked(false)
    let sampler = TreeReader(
      installation.device(of: sync, key: owner.key, root: owner.root), seed: 1)
    let sampling = Thread { sampler.run { isOver.withLock { $0 } } }
    let statuses = Locked<[Int]>([])
    let threads = ([owner, owner] + sharees + sharees).map { device in
      Thread {
        for _ in 0..<20 {
          let answer = try? device.create(parent: folder, owner: account).answer
          statuses.withLock { $0.append(answer?.status ?? 0) }
        }
      }
    }
    for thread in threads { thread.join() }
    isOver.withLock { $0 = true }
    sampling.join()
    #expect(statuses.withLock { all in all.count { $0 == 200 } } == 40)
    #expect(statuses.withLock { all in all.count { $0 == 507 } } == 80)
    #expect(try sampler.usage() == Self.freeByteCount)
    #expect(sampler.highestUsage <= Self.freeByteCount)
    #expect(sampler.trouble == [])
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try Books(installation).expectWhole(accountCount: 3)
  }

  /// Gives each device a folder to which all others may write.
  private static func befriend(_ devices: [TestDevice], _ history: TreeHistory) throws {
    for device in devices {
      let folder = try device.creation("folder", hmac: [UInt8](repeating: 255, count: 32))
      try history.note([folder], require(device.batch(files: [folder])))
      for other in devices where other !== device {
        _ = try require(device.grant(folder.file.id, to: other.account, mode: "write"))
        let link = try other.creation("link", target: folder.file.id)
        try history.note([link], require(other.batch(files: [link])))
      }
    }
  }

  private static func require(_ answer: Answer) throws -> Answer {
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    return answer
  }

  /// Returns when the writers have finished.
  private static func run(_ writers: [TreeWriter], beside readers: [TreeReader]) {
    let isOver = Locked(false)
    let reading = readers.map { reader in
      Thread { reader.run { isOver.withLock { $0 } } }
    }
    let writing = writers.map { writer in
      Thread { writer.run(times: TestRun.isFull ? 400 : 40) }
    }
    for thread in writing { thread.join() }
    isOver.withLock { $0 = true }
    for thread in reading { thread.join() }
  }

  static func expectNothingToCorrect(_ installation: Installation) throws {
    let recount = try installation.command("usage", "recount", "--all", "--dry-run", "--json")
    #expect(recount.end == .exited(0))
    #expect(recount.output.contains("\"wrong\":0,"), "\(recount.output)")
  }
}

/// The deadlocks that PostgreSQL had to break up.
enum Deadlocks {
  /// Always 0 on SQLite, which has one writer.
  static func count(in installation: Installation) throws -> Int64 {
    guard installation.engine == .postgres else { return 0 }
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    let count = try database.read { reader in
      try reader.first(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
      ) { row in try row.integer(0) }
    }
    return count ?? 0
  }
}
