import Accounts
import Base
import Chains
import Commits
import Documents
import Mailboxes
import SeededRandom
package import Simulation
import Storage
import Sync
import TestDevices
package import TestEngines
import TreeSimulation

/// A seeded story of signature chains and their mail: the devices of a few accounts add each other and remove each other,
/// with commits and welcomes, also two of them after one head. They come and go, while the network loses, repeats and
/// delays requests, the program crashes, and caps change. A model says what must be true.
package final class ChainStory {
  let server: TreeServer
  let rough: RoughServer<SentAct>
  let log: SimulationLog
  var random: SeededGenerator
  var model = ChainModel()
  /// The answers to requests that were carried out, by the request's number.
  var recorded: [Int: Answer] = [:]
  private var phones: [ChainPhone] = []
  private var lastNumber = 0
  /// Whether two blocks for one head are sent by two threads. Then a seed does not decide which one comes first.
  private let isConcurrent: Bool

  private static let caps: [Int64] = [15_000, 100_000, 2_000_000]
  private static let accountCount = 3
  private static let phoneCountMax = 4
  private static let chainCountMax = 3
  static let protocols: [any ProtocolRoom.Type] = [
    FileTrees.self, VersionedDocuments.self, DeviceMailboxes.self, SignatureChains.self,
    GroupCommits.self,
  ]

  /// What took effect. A story in which nothing happens proves nothing.
  package var appendedCount: Int { model.appendedCount }
  /// How often two blocks had one parent.
  package var forkCount: Int { model.replacedCount + lateCount }
  private var lateCount = 0
  package private(set) var revokedCount = 0
  package var crashCount: Int { rough.crashCount }

  /// The first account knows the others, who do not know each other.
  package init(
    _ engine: TestEngine = .sqlite, seed: UInt64, isConcurrent: Bool = false, _ log: SimulationLog
  ) throws {
    random = SeededGenerator(seed: seed)
    self.isConcurrent = isConcurrent
    self.log = log
    server = try TreeServer(
      engine, freeByteCount: Self.caps[1], protocols: Self.protocols)
    rough = RoughServer(server, seed: seed, log)
    var accounts: [Identifier] = []
    for _ in 0..<Self.accountCount {
      let device = try server.register(root: identifier())
      let account = try device.account
      if let first = accounts.first { try introduce(first, account) }
      accounts.append(account)
      model.accounts[account] = ChainModel.Account(base: try usage(of: account), cap: 0)
      try setCap(account, Self.caps[2])
      let phone = try take(device, into: account)
      for _ in 0..<number(0...2) { try add(to: account) }
      try makeChain(by: phone, isOwn: true)
      try makeChain(by: phone, isOwn: false)
      try keepUp(phone)
      let others = phones.filter { $0.account == account && $0 !== phone }.map(\.key)
      for chain in phone.own { phone.want(ChainPhone.Wish(chain: chain, additions: others)) }
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
      try retire()
      try checkUsage()
      if step.isMultiple(of: 15) { try checkRows() }
      if step.isMultiple(of: 100) { try quiet() }
    } end: {
      try quiet()
    }
  }

  private func step() throws {
    switch number(1...100) {
    case ...16: wish()
    case ...20: lose()
    case ...52: if let phone = anyPhone() { try keepUp(phone) }
    case ...62: try race()
    case ...67: if let phone = anyPhone(), let chain = anyChain(of: phone) { phone.tell(chain) }
    case ...70: if let account = anyAccount() { try setCap(account, Self.caps[number(0...2)]) }
    case ...75: if let account = anyAccount() { try add(to: account) }
    case ...77: if let phone = anyPhone() { try makeChain(by: phone, isOwn: false) }
    case ...79: try leave()
    case ...81: try show()
    case ...90: try pass()
    case ...93: try work()
    case ...97: try rough.bringLate(deliver)
    default: try rough.crash()
    }
  }

  var now: Instant { server.now }
  func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  func chance(_ percent: Int) -> Bool { number(1...100) <= percent }
  func note(_ what: String) { log.write(now, what) }
  func pageLimit() -> Int { chance(50) ? 100 : number(1...5) }

  private func identifier() -> Identifier { Identifier(high: random.next(), low: random.next()) }
  private func anyPhone() -> ChainPhone? { phones.randomElement(using: &random) }
  private func anyAccount() -> Identifier? {
    model.accounts.keys.sorted().randomElement(using: &random)
  }
  private func anyChain(of phone: ChainPhone) -> Identifier? {
    phone.views.keys.sorted().randomElement(using: &random)
  }
  private func shuffled(_ keys: some Sequence<Key>) -> [Key] {
    keys.sorted { $0.lexicographicallyPrecedes($1) }.shuffled(using: &random)
  }

  // MARK: What people do

  func letter(_ kind: Letter.Kind, of block: Block) -> Letter {
    letter(kind, marked: block.hash)
  }

  func message() -> Letter { letter(.message, marked: random.bytes(count: 32)) }

  private func letter(_ kind: Letter.Kind, marked mark: [UInt8]) -> Letter {
    let padding = [UInt8](repeating: 0, count: chance(10) ? number(500...3000) : 0)
    return Letter(id: identifier(), kind: kind, body: mark + padding)
  }

  private func wish() {
    guard let phone = anyPhone(), let chain = anyChain(of: phone) else { return }
    phone.want(wish(in: chain, of: phone))
  }

  /// Joins more often than it removes. A key may be a stranger's or revoked.
  private func wish(in chain: Identifier, of phone: ChainPhone) -> ChainPhone.Wish {
    let members = phone.views[chain]?.members ?? [:]
    let isOwn = phone.own.contains(chain)
    var wish = ChainPhone.Wish(chain: chain)
    switch number(1...10) {
    case ...5:
      let (isStrict, isLive) = (chance(95), chance(90))
      let joining = model.devices.filter { key, device in
        members[key] == nil && !(isStrict && isOwn && device.account != phone.account)
          && !(isLive && device.isRevoked)
      }
      wish.additions = Array(shuffled(joining.keys).prefix(number(1...3)))
    case ...7:
      let others = shuffled(members.keys.filter { $0 != phone.key })
      // In its own chain that costs a device.
      if !isOwn || chance(50) { wish.removals = Array(others.prefix(1)) }
    case 8:
      // A member joins anew.
      let others = shuffled(members.keys.filter { $0 != phone.key })
      (wish.additions, wish.removals) = (Array(others.prefix(1)), Array(others.prefix(1)))
    default: break
    }
    return wish
  }

  /// A device is lost. Another one removes it from the account's own chain, which revokes it.
  private func lose() {
    guard let phone = anyPhone(), let chain = phone.own.first,
      let members = phone.views[chain]?.members,
      let lost = shuffled(members.keys.filter { $0 != phone.key }).first
    else { return }
    phone.want(ChainPhone.Wish(chain: chain, removals: [lost]))
  }

  private func keepUp(_ phone: ChainPhone) throws {
    let pause = try phone.keepUp()
    note("a phone \(pause?.rawValue ?? "is up to date")")
  }

  /// Two devices have the same head, and each appends to it before it knows what the other did.
  private func race() throws {
    guard let id = model.chains.keys.sorted().randomElement(using: &random),
      let chain = model.chains[id]
    else { return }
    let members = phones.filter {
      chain.members[$0.key] != nil && !chain.left.contains($0.account)
    }
    let racers = members.shuffled(using: &random).prefix(2)
    for phone in racers { try keepUp(phone) }
    var sent: [SentAct] = []
    for phone in racers where model.account(of: phone.key) != nil {
      guard let draft = phone.prepare(wish(in: id, of: phone)) else { continue }
      sent.append(try sign(.append(draft), by: phone))
    }
    note("a race of \(sent.count)")
    guard isConcurrent, sent.count == 2 else {
      for one in sent { try deliver(one) }
      return
    }
    try deliverAtOnce(sent)
  }

  /// An account leaves a chain of another one, or deletes its own. The one of its own devices stays.
  private func leave() throws {
    guard chance(60), let phone = anyPhone(), let chain = anyChain(of: phone),
      !phone.own.contains(chain)
    else { return }
    _ = try ask(.leave(chain), phone)
  }

  private func show() throws {
    guard let phone = anyPhone(), let chain = anyChain(of: phone) else { return }
    _ = try ask(.members(chain), phone)
  }

  private func makeChain(by phone: ChainPhone, isOwn: Bool) throws {
    let count = model.chains.values.count(where: { $0.owner == phone.account })
    guard count < Self.chainCountMax else { return }
    let root = Block(
      identifier(), after: nil, 0, by: phone.key, adding: [phone.key], removing: [])
    // An answer that was lost says nothing.
    for _ in 0..<5 {
      guard try ask(.make(root, isOwn: isOwn), phone) == nil else { return }
    }
  }

  private func setCap(_ account: Identifier, _ byteCount: Int64) throws {
    try server.setCap(account, byteCount)
    model.accounts[account]?.cap = byteCount
    note("cap \(byteCount)")
  }

  // MARK: Devices

  private func take(_ device: TestDevice, into account: Identifier) throws -> ChainPhone {
    // The device signs statements about the account.
    guard try device.account == account else { throw Mismatch("a device of another account") }
    let phone = ChainPhone(self, device, account)
    model.devices[phone.key] = ChainModel.Device(account: account)
    phones.append(phone)
    return phone
  }

  private func add(to account: Identifier) throws {
    let others = phones.filter { $0.account == account }
    guard let first = others.first, others.count < Self.phoneCountMax else { return }
    note("another phone")
    let phone = try take(server.add(to: first.device), into: account)
    for chain in first.own { first.want(ChainPhone.Wish(chain: chain, additions: [phone.key])) }
  }

  /// The devices that a block has revoked try once more: to keep up, to push a document and to send a message.
  private func retire() throws {
    for phone in phones where model.account(of: phone.key) == nil {
      note("a phone is removed")
      revokedCount += 1
      guard try phone.keepUp() != nil else { throw Mismatch("a removed phone keeps up") }
      try deliver(sign(.push(identifier()), by: phone))
      for (chain, view) in phone.views.sorted(by: { $0.key < $1.key }) {
        try deliver(sign(.tell(chain, epoch: view.last?.epoch ?? 0, message()), by: phone))
      }
      phones.removeAll { $0 === phone }
    }
  }

  // MARK: The network

  private func sign(_ act: ChainAct, by phone: ChainPhone) throws -> SentAct {
    lastNumber += 1
    return SentAct(
      number: lastNumber, act: act, device: phone.device,
      request: try act.request(by: phone.device))
  }

  /// Sends a phone's request, at times in bad weather. Nil if the phone gets no answer.
  func ask(_ act: ChainAct, _ phone: ChainPhone) throws -> Answer? {
    try rough.carry(sign(act, by: phone), act.name, deliver)
  }

  /// Has the program answer a request, and compares the answer with the model, which follows.
  @discardableResult
  private func deliver(_ sent: SentAct) throws -> Answer {
    let answer = try sent.device.send(sent.request)
    try follow(answer, to: sent)
    return answer
  }

  private func follow(_ answer: Answer, to sent: SentAct) throws {
    let problem = try answer.problem
    if problem == "head_changed" { lateCount += 1 }
    note("\(sent.act.name): \(answer.status) \(problem ?? "")")
    try judge(answer, to: sent)
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
    let before = (model, recorded)
    do { for (answer, sent) in answers { try follow(answer, to: sent) } } catch is Mismatch {
      (model, recorded) = before
      for (answer, sent) in answers.reversed() { try follow(answer, to: sent) }
    }
  }

  // MARK: Time

  private func pass() throws {
    let span: Instant.Span =
      switch number(1...20) {
      case ...9: .seconds(Int64(number(1...30)))
      case ...14: .minutes(Int64(number(1...40)))
      case ...18: .hours(Int64(number(1...24)))
      default: .days(Int64(number(1...3)))
      }
    server.advance(span)
    if span > .hours(1) { try work() }
  }

  private func work() throws {
    try rough.work()
    model.sweep(at: now)
  }

  // MARK: Pauses

  /// All requests arrive, and there is room. Then every device has the same chains and all of their mail, and soon
  /// nothing but chains is charged.
  private func quiet() throws {
    note("quiet")
    rough.isCalm = true
    defer { rough.isCalm = false }
    try rough.bringAll(deliver)
    for account in model.accounts.keys.sorted() { try setCap(account, 100_000_000) }
    // A block that is replaced is made anew, and then the others have to read it.
    for _ in 0..<4 {
      for phone in phones where model.account(of: phone.key) != nil { try keepUp(phone) }
      try retire()
    }
    for phone in phones {
      if let pause = try phone.keepUp() { throw Mismatch("a phone is \(pause.rawValue)") }
      guard phone.isIdle else { throw Mismatch("a phone has not sent everything") }
    }
    try checkChains()
    try work()
    server.advance(.minutes(61))
    try work()
    for (id, account) in model.accounts where !account.mail.isEmpty {
      throw Mismatch("\(id) is charged for messages that no device waits for")
    }
    try checkUsage()
    try checkRows()
    try checkRemains()
    for account in model.accounts.keys.sorted() { try setCap(account, Self.caps[number(0...2)]) }
  }

  /// Every device has each chain that its account sees, got the welcome and the commits of its blocks once, and is
  /// refused where it is no member.
  private func checkChains() throws {
    for (id, chain) in model.chains.sorted(by: { $0.key < $1.key }) {
      for phone in phones {
        let seen = model.chain(id, seenBy: phone.account)
        guard phone.views[id] == seen?.blocks else {
          throw Mismatch("a phone has another chain \(id)")
        }
        for block in chain.blocks {
          guard let commit = chain.commits[block.hash] else { continue }
          let joins = block.additions.contains(phone.key)
          guard phone.count(.welcome, of: block) == (joins ? 1 : 0) else {
            throw Mismatch("a phone has no welcome of \(block.epoch) of \(id), or one too many")
          }
          let reads = commit.readers.contains(phone.key)
          guard phone.count(.commit, of: block) == (reads ? 1 : 0) else {
            throw Mismatch("a phone has no commit of \(block.epoch) of \(id), or one too many")
          }
        }
        guard chain.members[phone.key] == nil else { continue }
        let late = try deliver(
          sign(.tell(id, epoch: chain.head.epoch, message()), by: phone))
        guard late.status == (seen == nil ? 404 : 403) else {
          throw Mismatch("who is no member: \(UnexpectedAnswer(late))")
        }
      }
    }
  }
}
