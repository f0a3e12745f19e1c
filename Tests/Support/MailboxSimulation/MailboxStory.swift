import Accounts
import Base
import Mailboxes
import SeededRandom
package import Simulation
import Storage
import Sync
import TestDevices
package import TestEngines
import TreeSimulation

/// A seeded story of mailboxes: the devices of a few accounts write to each other, read and acknowledge, offer key
/// packages and claim them, also at the same time. They come and go, and are away for long, while the network loses,
/// repeats and delays requests, the program crashes, and caps change. A model says what must be true.
package final class MailboxStory {
  let server: TreeServer
  let rough: RoughServer<SentAct>
  let log: SimulationLog
  var random: SeededGenerator
  var model = MailboxModel()
  /// The answers to requests that were carried out, by the request's number.
  var recorded: [Int: Answer] = [:]
  /// The key packages that were given, besides last resorts.
  var given: Set<[UInt8]> = []
  private var phones: [MailboxPhone] = []
  private var lastNumber = 0
  /// A key was revoked, and its mailbox is still there.
  private var isClosing = false
  package var crashCount: Int { rough.crashCount }

  private static let caps: [Int64] = [15_000, 100_000, 2_000_000]
  private static let accountCount = 3
  private static let phoneCountMax = 4

  /// What took effect. A story in which nothing happens proves nothing.
  package var storedCount: Int { model.storedCounts.values.reduce(0, +) }
  package var expiredCount: Int { model.expiredCount }
  package var givenCount: Int { model.givenCount }

  /// The first account knows the others, who do not know each other.
  package init(_ engine: TestEngine = .sqlite, seed: UInt64, _ log: SimulationLog) throws {
    random = SeededGenerator(seed: seed)
    self.log = log
    server = try TreeServer(
      engine, freeByteCount: Self.caps[1], protocols: [FileTrees.self, DeviceMailboxes.self])
    rough = RoughServer(server, seed: seed, log)
    var accounts: [Identifier] = []
    for _ in 0..<Self.accountCount {
      let device = try server.register(root: identifier())
      let account = try device.account
      if let first = accounts.first { try introduce(first, account) }
      accounts.append(account)
      model.accounts[account] = MailboxModel.Account(base: try usage(of: account), cap: 0)
      try setCap(account, Self.caps[2])
      take(device, into: account)
      for _ in 0..<number(0...1) { try add(to: account) }
    }
  }

  private func introduce(_ one: Identifier, _ other: Identifier) throws {
    model.contacts.insert([one, other])
    let log = identifier()
    try server.database.write(for: nil) { transaction in
      try transaction.execute(
        """
        INSERT INTO sync.log_shares (log_id, account_id, owner_id, mode, state, share_key, author_key,
          signature, granted_ms)
        VALUES ($1, $2, $3, 'read', 'accepted', $1, $1, $1, 0)
        """, .id(log), .id(other), .id(one))
    }
  }

  // MARK: Steps

  package func tell(stepCount: Int) throws {
    try takeSteps(stepCount) { step in
      note("step \(step)")
      try self.step()
      try checkUsage()
      if step % 100 == 50 { try beAway() }
      if step.isMultiple(of: 15) { try checkRows() }
      if step.isMultiple(of: 100) { try quiet() }
    } end: {
      try quiet()
    }
  }

  private func step() throws {
    switch number(1...100) {
    case ...26: write()
    case ...54: if let phone = anyPhone() { try keepUp(phone) }
    case ...65: try claim()
    case ...69: try claimAtOnce()
    case ...72: try sendTwiceAtOnce()
    case ...74: try sendAnother()
    case ...77: if let account = anyAccount() { try setCap(account, Self.caps[number(0...2)]) }
    case ...80: if let account = anyAccount() { try add(to: account) }
    case ...82: try remove()
    case ...91: try pass()
    case ...94: try work()
    case ...97: try rough.bringLate(deliver)
    default: try rough.crash()
    }
  }

  var now: Instant { server.now }
  func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  func chance(_ percent: Int) -> Bool { number(1...100) <= percent }
  func note(_ what: String) { log.write(now, what) }
  func pageLimit() -> Int { chance(50) ? 250 : number(1...5) }
  func shuffled(_ numbers: [Int64]) -> [Int64] { numbers.shuffled(using: &random) }

  private func identifier() -> Identifier { Identifier(high: random.next(), low: random.next()) }
  private func anyPhone() -> MailboxPhone? { phones.randomElement(using: &random) }
  private func anyAccount() -> Identifier? {
    model.accounts.keys.sorted().randomElement(using: &random)
  }

  /// The key of a device, which may be a stranger's or revoked.
  private func anyKey() -> Key {
    let keys = model.devices.keys.sorted { $0.lexicographicallyPrecedes($1) }
    let live = keys.filter { model.account(of: $0) != nil }
    return (chance(85) ? live : keys).randomElement(using: &random) ?? random.bytes(count: 32)
  }

  private func write() {
    guard let phone = anyPhone() else { return }
    for _ in 0..<number(1...3) {
      var receivers: [Key] = []
      for _ in 0..<number(1...4) {
        let key = chance(5) ? random.bytes(count: 32) : anyKey()
        if !receivers.contains(key) { receivers.append(key) }
      }
      phone.write(identifier(), to: receivers, padding: chance(10) ? number(500...1500) : 0)
    }
  }

  private func keepUp(_ phone: MailboxPhone) throws {
    let pause = try phone.keepUp()
    note("a phone \(pause?.rawValue ?? "is up to date")")
  }

  /// What looks like a key package, as far as a server reads it.
  func keyPackage(of key: Key) -> [UInt8] {
    [0, 1, 0, 1, 32] + random.bytes(count: 32) + [32] + random.bytes(count: 32) + [32] + key
  }

  private func setCap(_ account: Identifier, _ byteCount: Int64) throws {
    try server.setCap(account, byteCount)
    model.accounts[account]?.cap = byteCount
    note("cap \(byteCount)")
  }

  // MARK: At the same time

  private func claim() throws {
    guard let phone = anyPhone() else { return }
    // A request may be lost, and is not made again then.
    _ = try ask(.claim(anyKey()), phone)
  }

  /// Two devices claim from the same one. Who gets what is left to chance, so there is enough for both or for none.
  private func claimAtOnce() throws {
    guard let one = anyPhone(), let other = anyPhone(), one !== other else { return }
    let target = anyKey()
    guard let device = model.devices[target],
      one.account == other.account || device.offered.count != 1 || device.lastResort != nil
    else { return }
    try deliverAtOnce([one, other].map { sign(.claim(target), by: $0) })
  }

  /// A device does not wait for the answer, and sends its message again.
  private func sendTwiceAtOnce() throws {
    guard let phone = anyPhone(), let message = phone.unsent.first else { return }
    try deliverAtOnce((0..<2).map { _ in sign(.send(message), by: phone) })
  }

  /// A device sends another message under the id of one that waits.
  private func sendAnother() throws {
    guard let phone = anyPhone(),
      let letter = model.accounts[phone.account]?.letters.last(where: {
        $0.name.sender == phone.key
      })
    else { return }
    let message = Message(
      id: letter.name.id, receivers: letter.message.receivers, body: letter.message.body + [1])
    try deliver(sign(.send(message), by: phone))
  }

  // MARK: Devices

  private func take(_ device: TestDevice, into account: Identifier) {
    let phone = MailboxPhone(self, device, account)
    model.devices[phone.key] = MailboxModel.Device(account: account)
    phones.append(phone)
  }

  private func add(to account: Identifier) throws {
    let others = phones.filter { $0.account == account }
    guard let first = others.first, others.count < Self.phoneCountMax else { return }
    note("another phone")
    take(try server.add(to: first.device), into: account)
  }

  /// A device revokes another, whose mailbox goes with the next work. What was due before has gone by then.
  private func remove() throws {
    guard let phone = anyPhone(),
      let other = phones.first(where: { $0.account == phone.account && $0 !== phone })
    else { return }
    try work()
    let answer = try other.device.revoke(key: phone.key)
    guard 200..<300 ~= answer.status else { throw Mismatch("\(UnexpectedAnswer(answer))") }
    note("a phone is removed")
    model.devices[phone.key]?.isRevoked = true
    isClosing = true
    // It tries once more.
    guard try phone.keepUp() != nil else { throw Mismatch("a removed phone keeps up") }
    phones.removeAll { $0 === phone }
  }

  // MARK: The network

  private func sign(_ act: MailboxAct, by phone: MailboxPhone) -> SentAct {
    lastNumber += 1
    return SentAct(
      number: lastNumber, act: act, device: phone.device, request: act.request(by: phone.device))
  }

  /// Sends a phone's request, at times in bad weather. Nil if the phone gets no answer.
  func ask(_ act: MailboxAct, _ phone: MailboxPhone) throws -> Answer? {
    let sent = sign(act, by: phone)
    return try rough.carry(sent, act.name, deliver)
  }

  /// Has the program answer a request, and compares the answer with the model, which follows.
  @discardableResult
  private func deliver(_ sent: SentAct) throws -> Answer {
    let answer = try sent.device.send(sent.request)
    note("\(sent.act.name): \(answer.status) \(try answer.problem ?? "")")
    try judge(answer, to: sent)
    return answer
  }

  /// Delivers two requests at the same time. They must have been carried out one after the other, in either order.
  private func deliverAtOnce(_ sent: [SentAct]) throws {
    let results = Locked<[Int: Result<Answer, any Error>]>([:])
    let threads = sent.enumerated().map { index, sent in
      let (device, request) = (sent.device, sent.request)
      return Thread {
        let result = Result { try device.send(request) }
        results.withLock { $0[index] = result }
      }
    }
    for thread in threads { thread.join() }
    let all = results.withLock { $0 }
    let answers = try sent.indices.map { index in
      guard let result = all[index] else { throw Mismatch("no answer") }
      return (try result.get(), sent[index])
    }
    note("at once, \(sent[0].act.name): \(answers.map { $0.0.status }.sorted())")
    let before = (model, recorded, given)
    do { for (answer, sent) in answers { try judge(answer, to: sent) } } catch is Mismatch {
      (model, recorded, given) = before
      for (answer, sent) in answers.reversed() { try judge(answer, to: sent) }
    }
  }

  // MARK: Time

  private func pass() throws {
    let span: Instant.Span =
      switch number(1...20) {
      case ...9: .seconds(Int64(number(1...30)))
      case ...13: .minutes(Int64(number(1...40)))
      case ...17: .hours(Int64(number(1...24)))
      default: .days(Int64(number(20...150)))
      }
    try pass(span)
  }

  /// No device reads for so long that what waits expires.
  private func beAway() throws { try pass(.days(90)) }

  private func pass(_ span: Instant.Span) throws {
    if isClosing { try work() }
    server.advance(span)
    if span > .hours(1) { try work() }
  }

  private func work() throws {
    try rough.work()
    model.sweep(at: now)
    isClosing = false
  }

  // MARK: Pauses

  /// All requests arrive, and there is room. Then everything that was sent was read or came back, and soon nothing but
  /// key packages is charged.
  private func quiet() throws {
    note("quiet")
    rough.isCalm = true
    defer { rough.isCalm = false }
    try rough.bringAll(deliver)
    for account in model.accounts.keys.sorted() { try setCap(account, 100_000_000) }
    try work()
    // What one phone sends, the others have to read.
    for _ in 0..<2 {
      for phone in phones {
        if let pause = try phone.keepUp() { throw Mismatch("a phone is \(pause.rawValue)") }
      }
    }
    try checkFates()
    try work()
    server.advance(.minutes(61))
    try work()
    for (id, account) in model.accounts where !account.letters.isEmpty {
      throw Mismatch("\(id) is charged for messages that no device waits for")
    }
    try checkUsage()
    try checkRows()
    for account in model.accounts.keys.sorted() { try setCap(account, Self.caps[number(0...2)]) }
  }

  /// What each device that is still there was to get, it has, or the sender knows that it has not.
  private func checkFates() throws {
    for sender in phones {
      for (id, takers) in sender.accepted {
        let name = MailboxModel.Name(sender: sender.key, id: id)
        for taker in phones where takers.contains(taker.key) {
          let isRead = taker.read[name] != nil
          let isTold = sender.missed[id]?.contains(taker.key) ?? false
          guard isRead || isTold || model.untold.contains(name) else {
            throw Mismatch("\(id) is neither read nor expired")
          }
        }
      }
    }
  }
}
