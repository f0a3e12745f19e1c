import Accounts
import Base
import Logs
import SeededRandom
package import Simulation
import Storage
import Sync
import TestDevices
package import TestEngines
import TreeSimulation

/// A seeded story of message logs: the devices of a few accounts write, keep up, fold their logs into snapshots, forget,
/// and have wrong clocks, and accounts share their logs for a while, while the network loses and repeats requests, the
/// program crashes, caps change, and the operator takes epochs back. A model says what must be true.
package final class LogStory {
  struct Person {
    let account: Identifier
    let devices: [TestDevice]
  }

  let server: TreeServer
  private let rough: RoughServer<Sent>
  let hashes = Hashes()
  let log: SimulationLog
  var random: SeededGenerator
  var model = LogModel()
  private(set) var people: [Person] = []
  var clients: [LogClient] = []
  /// The edits that the server has said it has, by log.
  var acknowledged: [Identifier: Set<UInt64>] = [:]
  /// The edits by clients of other accounts that may append no more, by log. Nobody sends them again.
  var departed: [Identifier: Set<UInt64>] = [:]
  /// Those of them that the log has.
  var promised: [Identifier: Set<UInt64>] = [:]
  /// The answers to requests that the server carries out once, by the request's number.
  var recorded: [Int: Answer] = [:]
  private var lastNumber = 0
  private var lastEdit: UInt64 = 0
  private var lastNode = 0
  /// Messages are so large that accounts reach the end of what they may append above their caps.
  private let isLarge: Bool
  /// What took effect. A story in which nothing happens proves nothing.
  package internal(set) var appendedCount = 0
  package internal(set) var sharedCount = 0
  package internal(set) var epochCount = 0
  package var crashCount: Int { rough.crashCount }
  package private(set) var restoreCount = 0

  private static let caps: [Int64] = [60_000, 300_000, 2_000_000]

  package init(_ engine: TestEngine = .sqlite, seed: UInt64, _ log: SimulationLog) throws {
    random = SeededGenerator(seed: seed)
    isLarge = Int.random(in: 0..<4, using: &random) == 0
    self.log = log
    server = try TreeServer(
      engine, freeByteCount: Self.caps[1], protocols: [FileTrees.self, MessageLogs.self])
    rough = RoughServer(server, seed: seed, log, odds: (lostAnswers: 4, late: 2))
    for _ in 0..<3 {
      let first = try server.register(root: identifier())
      let others = try (0..<number(0...2)).map { _ in try server.add(to: first) }
      let account = try first.account
      people.append(Person(account: account, devices: [first] + others))
      model.caps[account] = Self.caps[1]
    }
    for person in people { try create(person) }
    for id in model.logs.keys.sorted().prefix(1) { try share(id, .write) }
  }

  // MARK: Steps

  package func tell(stepCount: Int) throws {
    try takeSteps(stepCount) { step in
      note("step \(step)")
      try self.step()
      try checkUsage()
      if step.isMultiple(of: 15) { try checkRows() }
      if step.isMultiple(of: 75) { try quiet() }
    } end: {
      try quiet()
    }
  }

  private func step() throws {
    switch number(1...100) {
    case ...24: try write()
    case ...58: if let client = anyClient() { try keepUp(client) }
    case ...67: try shorten()
    case ...70: anyClient()?.forget(number(1...5))
    case ...74: setClock()
    case ...77: try changeCap()
    case ...80: try restore()
    case ...81: try delete()
    case ...83: if let person = people.randomElement(using: &random) { try create(person) }
    case ...85: if let client = anyClient() { clients.append(LogClient(copy: client)) }
    case ...90: try share()
    case ...94: try pass()
    case ...95: try work()
    case ...97: try rough.bringLate(deliver)
    case ...98: try rough.crash()
    default: try trespass()
    }
  }

  var now: Instant { server.now }
  func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  func chance(_ percent: Int) -> Bool { number(1...100) <= percent }
  func identifier() -> Identifier { Identifier(high: random.next(), low: random.next()) }
  func note(_ what: String) { log.write(now, what) }
  func pageLimit() -> Int { chance(50) ? 1000 : number(1...40) }

  private func anyClient() -> LogClient? { clients.randomElement(using: &random) }

  private func write() throws {
    guard let client = anyClient(),
      model.logs[client.log]?.takesMessages(of: client.account) ?? true || chance(10)
    else { return }
    for _ in 0..<number(1...5) {
      lastEdit += 1
      let byteCount = chance(isLarge ? 60 : 4) ? number(10_000...40_000) : number(0...60)
      let block = random.bytes(count: 61)
      client.write(
        lastEdit,
        padding: Array(
          repeatElement(block, count: byteCount / block.count + 1).joined().prefix(byteCount)))
    }
  }

  /// Has a client keep up, and forgets it if its log is gone, or is shared with it no more.
  @discardableResult
  private func keepUp(_ client: LogClient) throws -> Bool {
    let pause = try client.keepUp()
    note("a client \(pause?.rawValue ?? "agrees")")
    guard pause == .ended else { return pause == nil }
    guard model.logs[client.log]?.isSeen(by: client.account) != true else {
      throw Mismatch("\(client.log) is not found")
    }
    depart(client)
    clients.removeAll { $0 === client }
    return false
  }

  /// A client folds the log's messages into a snapshot, and at times begins an epoch with it. Others may write meanwhile.
  private func shorten() throws {
    guard let client = anyClient(), model.logs[client.log]?.owner == client.account,
      try keepUp(client), let cursor = try client.storeSnapshot()
    else { return }
    if chance(40), let other = anyClient() { try keepUp(other) }
    if chance(75) { try client.beginEpoch(covering: cursor) }
  }

  private func setClock() {
    guard let client = anyClient() else { return }
    let seconds: Int =
      switch number(1...10) {
      case ...4: number(-2...2)
      case ...6: number(-240...240)
      case ...8: number(300...590)
      case 9: number(601...7200)
      default: number(-3600...(-301))
      }
    note("a clock is \(seconds) s ahead")
    client.setClock(ahead: .seconds(Int64(seconds)))
  }

  private func setCap(_ account: Identifier, _ byteCount: Int64) throws {
    try server.setCap(account, byteCount)
    model.caps[account] = byteCount
    note("cap \(byteCount)")
  }

  private func changeCap() throws {
    guard let person = people.randomElement(using: &random) else { return }
    try setCap(person.account, Self.caps[number(0...2)])
  }

  /// The operator takes back the epoch that a log had before.
  private func restore() throws {
    let (catalogue, now, logs) = (server.catalogue, server.now, model.logs.keys.sorted())
    let restorable = logs.filter { model.canRestore($0, at: now) != nil }
    guard let id = (restorable.isEmpty ? logs : restorable).randomElement(using: &random),
      let owner = model.logs[id]?.owner
    else { return }
    let expected = model.canRestore(id, at: now)
    let isDone: Bool?
    do {
      isDone = try server.database.write(for: owner) { transaction -> Bool? in
        let log = try MessageLog.find(transaction, id, for: owner)
        guard let kept = try LogRestore.find(transaction, of: id, now: now) else { return nil }
        try LogRestore.perform(transaction, log, kept, catalogue: catalogue, now: now)
        return true
      }
    } catch is AccountRefusal { isDone = false }
    note("restore: \(isDone.map { "\($0)" } ?? "nothing is kept")")
    guard isDone == expected else {
      throw Mismatch("restoring \(id): \(expected as Any) expected, got \(isDone as Any)")
    }
    guard isDone == true else { return }
    restoreCount += 1
    model.restore(id, at: now)
    promised[id] = nil
  }

  // MARK: Logs

  /// A log of an account, with a client on some of its devices.
  private func create(_ person: Person) throws {
    guard model.logs(of: person.account).count < 2 else { return }
    let id = identifier()
    let first = client(person.devices[0], person.account, id, .arrival)
    _ = try ask(.create, first)
    guard model.logs[id] != nil else { return }
    clients.append(first)
    for device in person.devices {
      for way in LogClient.Way.allCases where chance(60) {
        clients.append(client(device, person.account, id, way))
      }
    }
  }

  private func client(
    _ device: TestDevice, _ account: Identifier, _ log: Identifier, _ way: LogClient.Way
  ) -> LogClient {
    lastNode += 1
    let name = String(lastNode)
    let node = "fEdCbA9876" + String(repeating: "0", count: 6 - name.count) + name
    let offset = Instant.Span.milliseconds(Int64(number(-2000...2000)))
    return LogClient(self, device, account, log, way, HybridClock(node: node, offset: offset))
  }

  private func delete() throws {
    guard chance(50), let client = anyClient() else { return }
    _ = try ask(.delete, client)
  }

  /// Another account asks about a log. For it there is none, unless it has a share. The log stays its owner's.
  private func trespass() throws {
    guard let client = anyClient(), let owner = model.logs[client.log]?.owner,
      let other = people.filter({ $0.account != owner }).randomElement(using: &random)
    else { return }
    let act: Act =
      switch number(1...5) {
      case 1: .log
      case 2: .after(nil, limit: 10)
      case 3: .grant(client.account, .write)
      case 4: .endShare(client.account)
      default: .delete
      }
    try deliver(sign(act, on: client.log, by: other.devices[0], of: other.account))
  }

  // MARK: Shares

  private func share() throws {
    guard let id = model.logs.keys.sorted().randomElement(using: &random) else { return }
    try share(id, chance(60) ? .write : .read)
  }

  /// An owner shares a log with another account, which mostly accepts. Either of them ends a share at times.
  private func share(_ id: Identifier, _ mode: LogModel.Mode) throws {
    guard let log = model.logs[id], let owner = people.first(where: { $0.account == log.owner }),
      let other = people.filter({ $0.account != log.owner }).randomElement(using: &random)
    else { return }
    if let share = log.shares[other.account], share.isAccepted, chance(50) {
      return try ask(.endShare(other.account), id, chance(70) ? owner : other)
    }
    try ask(.grant(other.account, mode), id, owner)
    guard model.logs[id]?.shares[other.account]?.isAccepted != true, chance(85) else { return }
    try ask(.accept, id, other)
    guard model.logs[id]?.isSeen(by: other.account) ?? false else { return }
    for (device, way) in zip(other.devices, LogClient.Way.allCases) {
      clients.append(client(device, other.account, id, way))
    }
  }

  private func ask(_ act: Act, _ id: Identifier, _ person: Person) throws {
    let sent = sign(act, on: id, by: person.devices[0], of: person.account)
    _ = try rough.carry(sent, act.name, deliver)
  }

  /// A client may append no more. What the log has of it stays.
  func depart(_ client: LogClient) {
    let edits = client.giveUp()
    guard let log = model.logs[client.log] else { return }
    departed[client.log, default: []].formUnion(edits)
    promised[client.log, default: []].formUnion(edits.intersection(log.edits))
  }

  // MARK: The network

  private func sign(
    _ act: Act, on log: Identifier, by device: TestDevice, of account: Identifier
  ) -> Sent {
    lastNumber += 1
    return Sent(
      number: lastNumber, act: act, log: log, account: account, device: device,
      request: act.request(on: log, by: device, of: account))
  }

  /// Sends a client's request, at times in bad weather. Nil if the client gets no answer.
  func ask(_ act: Act, _ client: LogClient) throws -> Answer? {
    let sent = sign(act, on: client.log, by: client.device, of: client.account)
    if !rough.isCalm, case .putSnapshot = act, chance(15) {
      try cutOff(sent)
      return nil
    }
    return try rough.carry(sent, act.name, deliver)
  }

  /// Has the program answer a request, and compares the answer with the model, which follows.
  @discardableResult
  private func deliver(_ sent: Sent) throws -> Answer {
    let answer = try sent.device.send(sent.request)
    if case .putSnapshot = sent.act { try server.settle(people.map(\.account)) }
    note("\(sent.act.name): \(answer.status) \(try answer.problem ?? "")")
    try judge(answer, to: sent)
    return answer
  }

  /// Sends half of a snapshot. Then the client or the program is gone.
  private func cutOff(_ sent: Sent) throws {
    var exchange: DirectExchange? = try server.begin(sent.request)
    exchange?.send(sent.request.body.prefix(sent.request.body.count / 2))
    note("half of a snapshot")
    if chance(50) {
      exchange?.hangUp()
      try server.settle(people.map(\.account))
    } else {
      exchange = nil
      try rough.crash()
    }
  }

  // MARK: Time

  private func pass() throws {
    let span: Instant.Span =
      switch number(1...20) {
      case ...9: .seconds(Int64(number(1...30)))
      case ...15: .minutes(Int64(number(1...15)))
      case ...18: .hours(Int64(number(1...12)))
      default: .days(Int64(number(10...60)))
      }
    server.advance(span)
    if span > .hours(1) { try work() }
  }

  private func work() throws {
    try rough.work()
    model.sweep(at: now)
  }

  // MARK: Pauses

  /// All requests arrive, clocks are right and there is room. Then every device has the same, and a new one, too.
  private func quiet() throws {
    note("quiet")
    rough.isCalm = true
    defer { rough.isCalm = false }
    try rough.bringAll(deliver)
    // Clocks were at most two hours ahead, and ten minutes are allowed.
    server.advance(.minutes(131))
    for account in people.map(\.account) { try setCap(account, 1_000_000_000) }
    for client in clients { client.setClock(ahead: .milliseconds(Int64(number(-900...900)))) }
    // What one client sends again, the others have to read.
    for _ in 0..<3 {
      for client in clients { try keepUp(client) }
    }
    for client in clients where try !keepUp(client) {
      throw Mismatch("a client of \(client.log) does not agree")
    }
    try checkDevices()
    try work()
    try checkRows()
    try checkRemains()
    for account in people.map(\.account) { try setCap(account, Self.caps[number(0...2)]) }
  }

  private func checkDevices() throws {
    for (id, log) in model.logs.sorted(by: { $0.key < $1.key }) {
      let all = clients.filter { $0.log == id }
      guard let first = all.first, let person = people.first(where: { $0.account == log.owner })
      else { continue }
      let made = all.reduce(into: Set<UInt64>()) { $0.formUnion($1.own.keys) }
      let joined = client(person.devices[0], log.owner, id, .arrival)
      guard try joined.keepUp() == nil else { throw Mismatch("no device can join \(id)") }
      let least = made.union(promised[id] ?? [])
      let most = made.union(departed[id] ?? [])
      for client in all + [joined]
      where client.edits != joined.edits || !least.isSubset(of: client.edits)
        || !client.edits.isSubset(of: most)
      {
        throw Mismatch(
          "\(id): a device lacks \(least.subtracting(client.edits).count) of \(least.count) edits, "
            + "and has \(client.edits.subtracting(most).count) of no one")
      }
      guard (acknowledged[id] ?? []).isSubset(of: most) else {
        throw Mismatch("\(id) acknowledged edits that no device made")
      }
      // One that has read the whole epoch.
      let messages = Dictionary(
        uniqueKeysWithValues: log.current.messages.map { ($0.stamp, $0.edit) })
      guard first.messages == messages else { throw Mismatch("\(id): a device has other messages") }
    }
  }
}
