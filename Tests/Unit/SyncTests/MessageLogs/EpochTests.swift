import Accounts
import Base
import Crypto
import JSON
import Logs
import Requests
import SeededRandom
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// A device folds a log's messages into a snapshot, and the log begins an epoch without them.
@Suite struct EpochTests {
  @Test(arguments: TestEngine.available)
  func `an epoch begins without what the snapshot stands for, and carries over the rest`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let log = try device.createLog()
    let covered = (0..<300).map { SentMessage(server.stamp(.minutes(-1000 + $0)), [1, 2]) }
    try device.append(covered, to: log).requireSuccess()
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    let late = SentMessage(server.stamp(.minutes(-2000)), [7])
    let new = SentMessage(server.stamp(), [8])
    try device.append([late, new], to: log).requireSuccess()
    let usage = try device.usage()
    let begun = try device.beginEpoch(of: log, covering: cursor, snapshot: [5, 6])
    #expect(begun.status == 201)
    let epoch = try log.next(begun)
    #expect(epoch.epoch != log.epoch)
    #expect(try begun.json["horizon"].string == covered.last?.t)
    #expect(try begun.json["snapshot"]["bytes"].integer == 2)
    #expect(try device.get("\(log.path)/snapshot").holds([5, 6]))
    #expect(try device.messages(of: epoch) == [late, new])
    #expect(try device.messages(of: epoch, since: LogTests.zero).messages == [late, new])
    var trie = MerkleTrie()
    try trie.add([late, new].map { try #require(LogTimestamp($0.t)) })
    #expect(try device.get(log.path).json["root"].integer == Int64(trie.root()))
    #expect(try device.usage() == usage + 2 - covered.reduce(0) { $0 + $1.charge })
    #expect(try MessageLogs.faults(of: device.account, in: server.database) == [])
    let finding = try Recount(
      server.database, catalogue: server.catalogue,
      protocols: [FileTrees.self, MessageLogs.self]
    ).audit(device.account)
    #expect(finding?.isRight == true)
    try server.sweepDeletions()
    #expect(try server.count("log_messages") == 304)
    server.clock.advance(.days(90))
    try server.sweepDeletions()
    #expect(try server.count("log_messages") == 2)
    #expect(try server.count("log_epochs") == 1)
    #expect(try device.get("\(log.path)/snapshot").holds([5, 6]))
  }

  @Test(arguments: TestEngine.available)
  func `of a log the last epoch is kept, and of an account no more than its cap`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 100_000)
    let device = try server.register()
    let logs = try (0..<2).map { _ in try device.createLog() }
    func fold(_ log: KnownLog) throws -> KnownLog {
      let message = SentMessage(server.stamp(), [UInt8](repeating: 1, count: 40_000))
      server.clock.advance(.milliseconds(1))
      try device.append([message], to: log).requireSuccess()
      let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
      return try log.next(device.beginEpoch(of: log, covering: cursor))
    }
    func kept() throws -> [Int64] {
      try ["log_epochs", "log_epochs WHERE kept = 1", "log_epochs WHERE purge_ms IS NOT NULL"]
        .map { try server.count($0) }
    }
    let next = try fold(logs[0])
    #expect(try kept() == [3, 1, 1])
    let last = try fold(next)
    #expect(try kept() == [4, 1, 2])
    try server.sweepDeletions()
    #expect(try kept() == [3, 1, 1])
    _ = try fold(fold(logs[1]))
    try server.sweepDeletions()
    #expect(try kept() == [4, 2, 2])
    try server.setCap(device.account, 70_000, plan: "free", reason: "never_subscribed")
    _ = try fold(last)
    try server.sweepDeletions()
    #expect(try kept() == [3, 1, 1])
  }

  @Test(arguments: TestEngine.available)
  func `messages from before the horizon are refused, and those that were carried over known`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let log = try device.createLog()
    let covered = SentMessage(server.stamp(.minutes(-5)))
    try device.append([covered], to: log).requireSuccess()
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    let carried = SentMessage(server.stamp(.minutes(-9)))
    try device.append([carried], to: log).requireSuccess()
    let epoch = try log.next(device.beginEpoch(of: log, covering: cursor))
    let stale = try device.append([SentMessage(server.stamp())], to: log)
    #expect(try stale.problem == "epoch_changed")
    #expect(try stale.json["epoch"].string == epoch.epoch.description)
    #expect(try device.get("\(log.path)/messages?cursor=\(cursor)").problem == "epoch_changed")
    let new = SentMessage(server.stamp(counter: 1))
    for old in [covered, SentMessage(server.stamp(.minutes(-7)))] {
      let refused = try device.append([new, old], to: epoch)
      #expect(refused.status == 410)
      #expect(try refused.problem == "before_horizon")
      #expect(try refused.json["t"].string == old.t)
      #expect(try refused.json["horizon"].string == covered.t)
    }
    #expect(try device.append([carried], to: epoch).json["added"].integer == 0)
    try device.append([new], to: epoch).requireSuccess()
    #expect(try device.messages(of: epoch) == [carried, new])
  }

  @Test func `a horizon never goes back, and the same request begins one epoch`() throws {
    let server = try TestServer()
    let device = try server.register()
    let log = try device.createLog()
    let (first, second) = (server.stamp(.minutes(-1)), server.stamp(.minutes(-9)))
    try device.append([SentMessage(first)], to: log).requireSuccess()
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    try device.append([SentMessage(second)], to: log).requireSuccess()
    try device.putSnapshot([5], of: log, covering: cursor).requireSuccess()
    let request = device.epochRequest(of: log, covering: cursor)
    let begun = try device.send(request)
    #expect(try device.send(request).holds(begun.body))
    let epoch = try log.next(begun)
    let later = try #require(try device.page(of: epoch, "").json["cursor"].string)
    let again = try device.beginEpoch(of: epoch, covering: later)
    #expect(try again.json["horizon"].string == first)
    #expect(try again.json["messages"].integer == 0)
  }

  @Test(arguments: TestEngine.available)
  func `an epoch that an operator replaces can be taken back for a month, however late it is`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let account = try device.account
    let log = try device.createLog()
    func restore() throws {
      let now = server.clock.now
      try server.database.write(for: account) { [catalogue = server.catalogue] transaction in
        let found = try MessageLog.find(transaction, log.id, for: account)
        if let kept = try LogRestore.find(transaction, of: log.id, now: now) {
          try LogRestore.perform(transaction, found, kept, catalogue: catalogue, now: now)
        }
      }
    }
    let first = SentMessage(server.stamp())
    try device.append([first], to: log).requireSuccess()
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    let epoch = try log.next(device.beginEpoch(of: log, covering: cursor))
    server.clock.advance(.days(89))
    let later = SentMessage(server.stamp())
    try device.append([later], to: epoch).requireSuccess()
    try restore()
    #expect(try device.messages(of: log) == [first])
    server.clock.advance(.days(29))
    try server.sweepDeletions()
    try restore()
    #expect(try device.messages(of: log) == [later])
  }

  @Test func `a snapshot that covers nothing, or too little, begins no epoch`() throws {
    let server = try TestServer(freeByteCount: 30_000_000)
    let device = try server.register()
    let (log, other) = (try device.createLog(), try device.createLog())
    let empty = try #require(try device.page(of: log, "").json["cursor"].string)
    func problem(_ cursor: String) throws -> String? {
      try device.beginEpoch(of: log, covering: cursor).problem
    }
    #expect(try problem(empty) == "cursor_invalid")
    try device.append([SentMessage(server.stamp())], to: log).requireSuccess()
    #expect(try problem(empty) == "cursor_invalid")
    #expect(try problem("x") == "cursor_invalid")
    let foreign = try #require(try device.page(of: other, "").json["cursor"].string)
    #expect(try problem(foreign) == "epoch_changed")
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    for part in 0..<2 {
      let messages = (1...2501).map {
        SentMessage(server.stamp(.seconds(-$0), counter: part), [])
      }
      try device.append(messages, to: log).requireSuccess()
    }
    #expect(try problem(cursor) == "snapshot_outdated")
    #expect(try device.get(log.path).json["epoch"].string == log.epoch.description)
    #expect(try device.get(log.path).json["messages"].integer == 5003)
  }

  @Test func `an epoch begins only with a snapshot that was stored for its cursor`() throws {
    let server = try TestServer()
    let device = try server.register()
    let log = try device.createLog()
    try device.append([SentMessage(server.stamp())], to: log).requireSuccess()
    let first = try #require(try device.page(of: log, "").json["cursor"].string)
    #expect(
      try device.send(device.epochRequest(of: log, covering: first)).problem == "snapshot_missing")
    try device.putSnapshot([1], of: log, covering: first).requireSuccess()
    try device.append([SentMessage(server.stamp(counter: 1))], to: log).requireSuccess()
    let second = try #require(try device.page(of: log, "").json["cursor"].string)
    #expect(
      try device.send(device.epochRequest(of: log, covering: second)).problem == "snapshot_missing")
    let epoch = try log.next(device.send(device.epochRequest(of: log, covering: first)))
    #expect(try device.messages(of: epoch).count == 1)
    // It covers what was before, and nothing of the new epoch.
    let third = try #require(try device.page(of: epoch, "").json["cursor"].string)
    #expect(
      try device.send(device.epochRequest(of: epoch, covering: third)).problem
        == "snapshot_missing")
  }

  @Test(arguments: TestEngine.available)
  func `devices that go offline while epochs begin end with every edit`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "EpochTests")
    var random = SeededGenerator(seed: seed)
    let server = try TestServer(engine, freeByteCount: 30_000_000)
    let owner = try server.register()
    let log = try owner.createLog()
    var apps = (0..<3).map { EditingApp(owner, server, log, node: $0) }
    var editCount = 0
    for _ in 0..<60 {
      server.clock.advance(.seconds(.random(in: 1...300, using: &random)))
      let index = Int.random(in: apps.indices, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0...2:
        editCount += 1
        apps[index].edit("\(editCount)")
      case 3...4: try apps[index].sync()
      default:
        try apps[index].sync()
        try apps[index].compact()
      }
    }
    for _ in 0..<2 { for index in apps.indices { try apps[index].sync() } }
    let expected = Set((1...max(1, editCount)).map { "\($0)" })
    for app in apps { #expect(app.edits == expected, "seed \(seed)") }
    try server.sweepDeletions()
    #expect(try MessageLogs.faults(of: owner.account, in: server.database) == [])
  }
}

/// An app whose state is a set of edits, on one device of an account.
private struct EditingApp {
  private let device: TestDevice
  private let server: TestServer
  private let node: String
  private var log: KnownLog
  private var cursor: String?
  private var unsent: [SentMessage] = []
  private var counter = 0
  private(set) var edits: Set<String> = []

  init(_ device: TestDevice, _ server: TestServer, _ log: KnownLog, node: Int) {
    (self.device, self.server, self.log) = (device, server, log)
    self.node = "000000000000000\(node)"
  }

  private mutating func stamp() -> String {
    counter = (counter + 1) % 0x10000
    return server.stamp(counter: counter, node: node)
  }

  mutating func edit(_ name: String) {
    edits.insert(name)
    unsent.append(SentMessage(stamp(), Array(name.utf8)))
  }

  /// Sends and pulls, until the server refuses neither.
  mutating func sync() throws {
    while !unsent.isEmpty {
      let answer = try device.append(unsent, to: log)
      switch try answer.problem {
      case nil: unsent = []
      case "epoch_changed": try follow()
      case "before_horizon":
        for index in unsent.indices { unsent[index] = SentMessage(stamp(), unsent[index].c) }
      default: throw UnexpectedAnswer(answer)
      }
    }
    while true {
      let answer = try device.get(
        "\(log.path)/messages?limit=7\(cursor.map { "&cursor=\($0)" } ?? "")")
      guard answer.status == 200 else {
        guard try answer.problem == "epoch_changed" else { throw UnexpectedAnswer(answer) }
        try follow()
        continue
      }
      let json = try answer.json
      guard json["epoch"].string == log.epoch.description else {
        try follow()
        continue
      }
      for message in (json["messages"].array ?? []).compactMap({ SentMessage($0) }) {
        edits.insert(String(decoding: message.c, as: UTF8.self))
      }
      cursor = json["cursor"].string
      if json["more"].bool == false { return }
    }
  }

  /// Takes the snapshot of the new epoch.
  private mutating func follow() throws {
    let json = try device.get(log.path).json
    guard let epoch = json["epoch"].string.flatMap(Identifier.init),
      let covers = json["snapshot"]["covers"].string
    else { throw UnexpectedPage() }
    log = KnownLog(id: log.id, epoch: epoch)
    cursor = covers
    let snapshot = try device.get("\(log.path)/snapshot")
    edits.formUnion(
      String(decoding: snapshot.body, as: UTF8.self).split(separator: "\n").map(String.init))
  }

  mutating func compact() throws {
    guard let cursor else { return }
    let answer = try device.beginEpoch(
      of: log, covering: cursor, snapshot: Array(edits.sorted().joined(separator: "\n").utf8))
    // An epoch that is empty has nothing to fold.
    guard try answer.status == 201 || answer.problem == "cursor_invalid" else {
      throw UnexpectedAnswer(answer)
    }
    if answer.status == 201 { try follow() }
  }
}

extension KnownLog {
  /// The log in the epoch that an answer says has begun.
  func next(_ answer: Answer) throws -> KnownLog {
    guard answer.status == 201, let epoch = try answer.json["epoch"].string.flatMap(Identifier.init)
    else { throw UnexpectedAnswer(answer) }
    return KnownLog(id: id, epoch: epoch)
  }
}

extension TestDevice {
  func epochRequest(of log: KnownLog, covering cursor: String) -> Signed {
    sign(
      "POST", "\(log.path)/epochs",
      body: JSONValue.object([.init("covers", .string(cursor))]).encoded())
  }

  /// Stores a snapshot up to a cursor, and begins an epoch with it.
  func beginEpoch(
    of log: KnownLog, covering cursor: String, snapshot: [UInt8] = [5]
  ) throws -> Answer {
    let stored = try putSnapshot(snapshot, of: log, covering: cursor)
    guard stored.status == 200 else { return stored }
    return try send(epochRequest(of: log, covering: cursor))
  }
}
