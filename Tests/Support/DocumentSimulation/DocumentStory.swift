import Accounts
import Base
import Crypto
import Documents
import JSON
import Logs
import Requests
import SeededRandom
package import Simulation
import Storage
import Sync
import TestDevices
package import TestEngines
import Tiers
import TreeSimulation

/// A seeded story of documents of versions: the devices of a few accounts edit, delete, push and pull, come and go, and
/// are away for long, while the network loses, repeats and delays requests, the program crashes, and caps change. In most
/// stories the accounts share documents at times. A model says what must be true.
package final class DocumentStory {
  let server: TreeServer
  private let rough: RoughServer<SentAct>
  let log: SimulationLog
  var random: SeededGenerator
  var model = DocumentModel()
  private var phones: [DocumentPhone] = []
  private var documents: [Identifier] = []
  /// A log of the first account. While it is shared with the other, the accounts are contacts.
  private let sharedLog: Identifier
  private var sharer: Identifier?
  /// Whether the accounts ever meet.
  private let meets: Bool
  /// The answers to pushes that were carried out, by the request's number.
  var recorded: [Int: Answer] = [:]
  private var lastNumber = 0
  private var lastEdit: UInt64 = 0
  /// What took effect. A story in which nothing happens proves nothing.
  package internal(set) var storedCount = 0
  package internal(set) var forgottenCount = 0
  package var crashCount: Int { rough.crashCount }

  private static let caps: [Int64] = [25_000, 100_000, 2_000_000]
  private static let phoneCountMax = 4
  static let protocols: [any ProtocolRoom.Type] = [
    FileTrees.self, MessageLogs.self, VersionedDocuments.self,
  ]

  package init(_ engine: TestEngine = .sqlite, seed: UInt64, _ log: SimulationLog) throws {
    random = SeededGenerator(seed: seed)
    sharedLog = Identifier(high: random.next(), low: random.next())
    meets = Int.random(in: 1...100, using: &random) <= 75
    self.log = log
    server = try TreeServer(
      engine, freeByteCount: Self.caps[1],
      plans: [
        Plan(
          id: "keeper", title: "Keeper", byteCount: Self.caps[2],
          limits: Plan.Limits(historyDays: 30))
      ], protocols: Self.protocols)
    rough = RoughServer(server, seed: seed, log)
    for keeps in [true, false] {
      let device = try server.register(root: identifier())
      let account = try device.account
      if sharer == nil {
        sharer = account
        try createLog(device)
      }
      let base = try server.database.read { reader in
        try reader.first(
          "SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(account)
        ) { row in try row.integer(0) } ?? 0
      }
      model.accounts[account] = DocumentModel.Account(
        kept: keeps ? .days(30) : nil, base: base, cap: Self.caps[2])
      try setCap(account, Self.caps[2])
      try take(device, into: account)
      for _ in 0..<number(1...2) { try add(to: account) }
    }
    if meets { try setContacts(chance(75)) }
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
    case ...38: change()
    case ...72: if let phone = anyPhone() { try keepUp(phone) }
    case ...76: try readHistory()
    case ...80: if let account = anyAccount() { try setCap(account, Self.caps[number(0...2)]) }
    case ...82: if let account = anyAccount() { try add(to: account) }
    case ...84: try remove()
    case ...85: if meets { try setContacts(!model.areContacts) }
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
  func pageLimit() -> Int { chance(50) ? 500 : number(1...5) }

  private func identifier() -> Identifier { Identifier(high: random.next(), low: random.next()) }
  private func anyPhone() -> DocumentPhone? { phones.randomElement(using: &random) }
  private func anyAccount() -> Identifier? {
    model.accounts.keys.sorted().randomElement(using: &random)
  }

  private func change() {
    guard let phone = anyPhone() else { return }
    for _ in 0..<number(1...4) {
      // A phone knows no others. So it cannot bring back one that was deleted before it came.
      let shown = documents.filter { phone.documents.versions[$0] != nil }
      let other = meets ? model.accounts.keys.first { $0 != phone.account } : nil
      let document: Identifier
      if shown.count > 2, !chance(10), let old = shown.suffix(8).randomElement(using: &random) {
        document = old
        if let other, chance(20) { phone.takeBack(document, from: other) }
      } else {
        document = identifier()
        documents.append(document)
      }
      lastEdit += 1
      phone.change(
        document, chance(12) ? nil : lastEdit, padding: chance(10) ? number(500...2000) : 0,
        to: chance(model.areContacts ? 60 : 3) ? other : nil)
    }
  }

  private func keepUp(_ phone: DocumentPhone) throws {
    let pause = try phone.keepUp()
    note("a phone \(pause?.rawValue ?? "agrees")")
  }

  private func readHistory() throws {
    guard let phone = anyPhone(), let document = documents.randomElement(using: &random) else {
      return
    }
    try deliver(sign(.history(document), by: phone))
  }

  private func setCap(_ account: Identifier, _ byteCount: Int64) throws {
    try server.setCap(
      account, byteCount, plan: model.accounts[account]?.kept == nil ? "free" : "keeper")
    model.accounts[account]?.cap = byteCount
    note("cap \(byteCount)")
  }

  // MARK: Contacts

  private func createLog(_ device: TestDevice) throws {
    let answer = try device.post(
      "/v1/logs", ["id": .string(sharedLog.description), "name": .base64([1])])
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
  }

  /// Begins the share between the accounts, or ends it.
  private func setContacts(_ areContacts: Bool) throws {
    guard areContacts != model.areContacts,
      let owner = phones.first(where: { $0.account == sharer }),
      let other = phones.first(where: { $0.account != sharer })
    else { return }
    let path = "/v1/logs/\(sharedLog)/shares/\(other.account)"
    let terms: [JSONValue.Member] = [
      .init("state", "granted"), .init("mode", "read"), .init("key", .base64([7])),
    ]
    let share = JSONValue.object(
      terms + [
        .init("account", .string(other.account.description)),
        .init("log", .string(sharedLog.description)),
      ])
    let signature = owner.device.key.signature(
      for: JSONValue.object([.init("log_share", share)]).canonical())
    let grant = JSONValue.object(terms + [.init("signature", .base64(signature))])
    let requests =
      areContacts
      ? [
        (owner.device, "PUT", grant.encoded()),
        (other.device, "PUT", JSONValue.object([.init("state", "accepted")]).encoded()),
      ] : [(owner.device, "DELETE", [])]
    for (device, method, body) in requests {
      let answer = try device.send(device.sign(method, path, body: body))
      guard 200..<300 ~= answer.status else { throw UnexpectedAnswer(answer) }
    }
    model.areContacts = areContacts
    note(areContacts ? "a share begins" : "the share ends")
  }

  // MARK: Devices

  private func take(_ device: TestDevice, into account: Identifier) throws {
    let phone = DocumentPhone(self, device, account, isTerse: chance(50))
    model.accounts[account]?.known[phone.key] = [:]
    phones.append(phone)
  }

  private func add(to account: Identifier) throws {
    let others = phones.filter { $0.account == account }
    guard let first = others.first, others.count < Self.phoneCountMax else { return }
    note("another phone")
    try take(server.add(to: first.device), into: account)
  }

  /// A device revokes another. What that one has not pushed is lost.
  private func remove() throws {
    guard let phone = anyPhone(),
      let other = phones.first(where: { $0.account == phone.account && $0 !== phone })
    else { return }
    let answer = try other.device.revoke(key: phone.key)
    guard 200..<300 ~= answer.status else { throw Mismatch("\(UnexpectedAnswer(answer))") }
    note("a phone is removed")
    model.accounts[phone.account]?.known[phone.key] = nil
    // It tries once more.
    guard try phone.keepUp() != nil else { throw Mismatch("a removed phone keeps up") }
    phones.removeAll { $0 === phone }
  }

  // MARK: The network

  private func sign(_ act: DocumentAct, by phone: DocumentPhone) -> SentAct {
    lastNumber += 1
    return SentAct(
      number: lastNumber, act: act, account: phone.account, device: phone.device,
      request: act.request(by: phone.device))
  }

  /// Sends a phone's request, at times in bad weather. Nil if the phone gets no answer.
  func ask(_ act: DocumentAct, _ phone: DocumentPhone) throws -> Answer? {
    let sent = sign(act, by: phone)
    if !rough.isCalm, case .pull(_, .some, _, _) = act, chance(30) {
      try pushBetweenPages(of: phone)
    }
    return try rough.carry(sent, act.name, deliver)
  }

  private func pushBetweenPages(of phone: DocumentPhone) throws {
    let others = phones.filter { $0.account == phone.account && $0 !== phone }
    guard let other = others.randomElement(using: &random) else { return }
    note("another phone pushes meanwhile")
    try other.pushAtOnce()
  }

  /// Has the program answer a request, and compares the answer with the model, which follows.
  @discardableResult
  private func deliver(_ sent: SentAct) throws -> Answer {
    let answer = try sent.device.send(sent.request)
    note("\(sent.act.name): \(answer.status) \(try answer.problem ?? "")")
    try judge(answer, to: sent)
    return answer
  }

  // MARK: Time

  private func pass() throws {
    let span: Instant.Span =
      switch number(1...20) {
      case ...9: .seconds(Int64(number(1...30)))
      case ...14: .minutes(Int64(number(1...40)))
      case ...18: .hours(Int64(number(1...24)))
      default: .days(Int64(number(10...100)))
      }
    server.advance(span)
    if span > .hours(1) { try work() }
  }

  private func work() throws {
    try rough.work()
    model.sweep(at: now)
    try followForgotten()
    model.releaseTexts()
  }

  // MARK: Pauses

  /// All requests arrive and there is room. Then every device has the same, a new one, too, and no edit is lost that was
  /// not deleted. All devices have the deletions, which are soon forgotten.
  private func quiet() throws {
    note("quiet")
    rough.isCalm = true
    defer { rough.isCalm = false }
    try rough.bringAll(deliver)
    for account in model.accounts.keys.sorted() { try setCap(account, 100_000_000) }
    // What one phone pushes, the others have to pull.
    for _ in 0..<2 {
      for phone in phones { try requireUpToDate(phone) }
    }
    try checkDocuments()
    // For contacts every deletion is kept as long as may be.
    try setContacts(false)
    // A phone says once an hour what it has.
    server.advance(.hours(2))
    for phone in phones { try requireUpToDate(phone) }
    server.advance(.minutes(11))
    try work()
    try checkRows()
    for (id, account) in model.accounts where account.current.contains(where: { $0.body == nil }) {
      throw Mismatch("\(id) has deletions that all devices know")
    }
    try checkDocuments()
    for account in model.accounts.keys.sorted() { try setCap(account, Self.caps[number(0...2)]) }
    if meets { try setContacts(chance(75)) }
  }

  private func requireUpToDate(_ phone: DocumentPhone) throws {
    if let pause = try phone.keepUp() { throw Mismatch("a phone is \(pause.rawValue)") }
  }

  private func checkDocuments() throws {
    for (id, account) in model.accounts {
      let own = phones.filter { $0.account == id }
      func edits(_ versions: [Version]) -> [Identifier: Set<UInt64>] {
        versions.filter { $0.body != nil && !account.returned.contains($0.document) }
          .reduce(into: [:]) { $0[$1.document, default: []].formUnion($1.edits) }
      }
      let (shown, written) = (edits(account.current), edits(account.current.filter { $0.to != id }))
      for document in documents where !account.returned.contains(document) {
        let made = own.reduce(into: account.promised[document] ?? []) {
          $0.formUnion($1.made[document] ?? [])
        }
        let isGone = account.deleted.contains(document) || made.isEmpty
        let expected: Set<UInt64>? = isGone ? nil : made
        guard written[document] == expected else {
          throw Mismatch(
            "\(document) has \(written[document]?.count ?? -1) edits, and must have "
              + "\(expected?.count ?? -1)")
        }
      }
      guard let first = own.first else { continue }
      let device = DocumentPhone(self, first.device, id, isTerse: false)
      for phone in own + [device] {
        try requireUpToDate(phone)
        let seen = phone.documents.edits.filter { !account.returned.contains($0.key) }
        let tolerated = phone === device ? [:] : account.takenBack
        for document in Set(shown.keys).union(seen.keys) {
          let (least, has) = (shown[document] ?? [], seen[document] ?? [])
          guard has.isSuperset(of: least),
            has.isSubset(of: least.union(tolerated[document] ?? []))
          else { throw Mismatch("a phone of \(id) shows \(document) otherwise") }
        }
      }
    }
  }
}
