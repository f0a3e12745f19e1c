import Base

/// What coffer-sync must answer and keep of mailboxes and key packages.
struct MailboxModel {
  /// A message, named by the device that sent it and the id that it chose.
  struct Name: Hashable {
    let sender: Key
    let id: Identifier
  }

  struct Letter {
    let name: Name
    let message: Message
    let takers: [Key]
    let refused: [Refused]
    var waiting: Set<Key>
    /// When it goes: because nobody waits for it any more, or because it has expired.
    var due: Instant
    /// The devices that did not read it in time. Then it waits for its sender.
    var missed: Set<Key>?

    var charge: Int64 {
      let ofEach = missed.map { 32 * $0.count } ?? message.body.count + 128 * takers.count
      return Int64(1000 + 128 + ofEach + 33 * refused.count)
    }
  }

  /// A message in a mailbox, and its number there once a device has read it.
  struct Entry {
    let name: Name
    var number: Int64?
  }

  struct Package {
    let bytes: [UInt8]
    let isLastResort: Bool
    /// The offer that brought it.
    let offer: Int
    var given: Instant?

    var charge: Int64 { given == nil ? Int64(1000 + 128 + bytes.count) : 0 }
  }

  struct Device {
    let account: Identifier
    var isRevoked = false
    var mailbox: [Entry] = []
    var packages: [Package] = []

    var offered: [Package] { packages.filter { !$0.isLastResort && $0.given == nil } }
    var lastResort: Package? { packages.first(where: \.isLastResort) }
  }

  struct Account {
    /// The charge of the account without messages and key packages.
    let base: Int64
    var cap: Int64
    /// In the order of storing.
    var letters: [Letter] = []
    /// How many key packages of each device it claimed on a day.
    var claims: (day: Int64, counts: [Key: Int]) = (0, [:])
  }

  enum Outcome {
    case unknownKey
    case stored(Letter, isRepeated: Bool)
    case undelivered([Refused])
    case differs
    case expired
    case full
    case offered(Int)
    case tooMany
    /// One of these is given.
    case given([Package])
    case notFound
    case noPackage
    case limited
  }

  var accounts: [Identifier: Account] = [:]
  var devices: [Key: Device] = [:]
  /// The accounts that know each other.
  var contacts: Set<Set<Identifier>> = []
  /// How often a message was stored: again only after it had gone.
  private(set) var storedCounts: [Name: Int] = [:]
  /// The messages of which a device was to hear that they expired, and did not read it in time.
  private(set) var untold: Set<Name> = []
  /// What took effect.
  private(set) var expiredCount = 0
  private(set) var givenCount = 0
  private var offerCount = 0

  private static let repeatSpan = Instant.Span.hours(1)
  private static let messageSpan = Instant.Span.days(90)
  private static let givenSpan = Instant.Span.days(1)

  /// The account of a device that may make requests.
  func account(of device: Key) -> Identifier? {
    devices[device].flatMap { $0.isRevoked ? nil : $0.account }
  }

  func usage(of id: Identifier) -> Int64 {
    let packages = devices.values.filter { $0.account == id }.flatMap(\.packages)
    return (accounts[id]?.base ?? 0) + (accounts[id]?.letters ?? []).reduce(0) { $0 + $1.charge }
      + packages.reduce(0) { $0 + $1.charge }
  }

  private func hasRoom(_ id: Identifier, for charge: Int64) -> Bool {
    charge <= 0 || usage(of: id) + charge <= accounts[id]?.cap ?? 0
  }

  /// Why a device takes nothing of an account; nil if it does.
  private func reason(_ key: Key, against sender: Identifier) -> String? {
    guard let device = devices[key],
      device.account == sender || contacts.contains([device.account, sender])
    else { return "unknown" }
    return device.isRevoked ? "revoked" : nil
  }

  // MARK: Messages

  mutating func send(_ message: Message, by sender: Key, at now: Instant) -> Outcome {
    guard let id = account(of: sender) else { return .unknownKey }
    let name = Name(sender: sender, id: message.id)
    if let known = accounts[id]?.letters.first(where: { $0.name == name }) {
      guard known.message == message else { return .differs }
      return known.missed == nil ? .stored(known, isRepeated: true) : .expired
    }
    let reasons = message.receivers.map { (key: $0, reason: reason($0, against: id)) }
    let refused = reasons.compactMap { key, reason in reason.map { Refused(key: key, reason: $0) } }
    let takers = reasons.filter { $0.reason == nil }.map(\.key)
    guard !takers.isEmpty else { return .undelivered(refused) }
    let letter = Letter(
      name: name, message: message, takers: takers, refused: refused, waiting: Set(takers),
      due: now + Self.messageSpan)
    guard hasRoom(id, for: letter.charge) else { return .full }
    accounts[id]?.letters.append(letter)
    for key in takers { devices[key]?.mailbox.append(Entry(name: name)) }
    storedCounts[name, default: 0] += 1
    return .stored(letter, isRepeated: false)
  }

  /// What waits for a device after the message of a number. One without a number came after all that the device read.
  func entries(of device: Key, after number: Int64) -> [Entry] {
    (devices[device]?.mailbox ?? []).filter { $0.number ?? .max > number }
  }

  func letter(_ name: Name) -> Letter? {
    let account = devices[name.sender]?.account
    return account.flatMap { accounts[$0]?.letters.first { $0.name == name } }
  }

  /// A device has read the number of a message.
  mutating func learn(_ number: Int64, of name: Name, in device: Key) {
    for index in devices[device]?.mailbox.indices ?? 0..<0
    where devices[device]?.mailbox[index].name == name {
      devices[device]?.mailbox[index].number = number
    }
  }

  mutating func acknowledge(_ number: Int64, by device: Key, at now: Instant) {
    guard let entry = devices[device]?.mailbox.first(where: { $0.number == number }) else { return }
    take(entry.name, from: device, at: now)
  }

  private mutating func take(_ name: Name, from device: Key, at now: Instant) {
    devices[device]?.mailbox.removeAll { $0.name == name }
    change(name) { letter in
      letter.waiting.remove(device)
      if letter.waiting.isEmpty { letter.due = now + Self.repeatSpan }
    }
  }

  private mutating func change(_ name: Name, _ body: (inout Letter) -> Void) {
    guard let id = devices[name.sender]?.account,
      let index = accounts[id]?.letters.firstIndex(where: { $0.name == name }),
      var letter = accounts[id]?.letters[index]
    else { return }
    body(&letter)
    accounts[id]?.letters[index] = letter
  }

  // MARK: Key packages

  mutating func offer(_ offer: Offer, by device: Key) -> Outcome {
    guard let id = account(of: device), let known = devices[device]?.packages else {
      return .unknownKey
    }
    offerCount += 1
    let all =
      offer.packages.map { Package(bytes: $0, isLastResort: false, offer: offerCount) }
      + (offer.lastResort.map { [Package(bytes: $0, isLastResort: true, offer: offerCount)] } ?? [])
    let fresh = all.filter { package in !known.contains { $0.bytes == package.bytes } }
    let isReplaced = fresh.contains(where: \.isLastResort)
    let after = known.filter { !isReplaced || !$0.isLastResort } + fresh
    guard after.count(where: { !$0.isLastResort && $0.given == nil }) <= 100 else {
      return .tooMany
    }
    let growth = after.reduce(0) { $0 + $1.charge } - known.reduce(0) { $0 + $1.charge }
    guard hasRoom(id, for: growth) else { return .full }
    devices[device]?.packages = after
    return .offered(fresh.count)
  }

  func claim(of target: Key, by claimer: Key, at now: Instant) -> Outcome {
    guard let id = account(of: claimer) else { return .unknownKey }
    guard reason(target, against: id) == nil, let device = devices[target] else {
      return .notFound
    }
    let oldest = device.offered.map(\.offer).min()
    let next =
      oldest.map { oldest in device.offered.filter { $0.offer == oldest } }
      ?? device.lastResort.map { [$0] } ?? []
    guard !next.isEmpty else { return .noPackage }
    let claims = accounts[id].flatMap { $0.claims.day == Self.day(now) ? $0.claims.counts : nil }
    guard claims?[target] ?? 0 < 20 else { return .limited }
    return .given(next)
  }

  /// A package was given to the account of a device.
  mutating func give(_ package: Package, of target: Key, to claimer: Key, at now: Instant) {
    guard let id = account(of: claimer) else { return }
    if accounts[id]?.claims.day != Self.day(now) { accounts[id]?.claims = (Self.day(now), [:]) }
    accounts[id]?.claims.counts[target, default: 0] += 1
    guard !package.isLastResort else { return }
    for index in devices[target]?.packages.indices ?? 0..<0
    where devices[target]?.packages[index].bytes == package.bytes {
      devices[target]?.packages[index].given = now
    }
    givenCount += 1
  }

  private static func day(_ moment: Instant) -> Int64 { moment.milliseconds / 86_400_000 }

  // MARK: Time

  /// What is due goes. A message that some have not read goes back to its sender once.
  mutating func sweep(at now: Instant) {
    for id in accounts.keys {
      let due = (accounts[id]?.letters ?? []).enumerated().filter { $0.element.due <= now }
        .sorted { ($0.element.due, $0.offset) < ($1.element.due, $1.offset) }
      for letter in due.map(\.element) { end(letter, of: id, at: now) }
    }
    for (key, device) in devices {
      if device.isRevoked {
        for entry in device.mailbox { take(entry.name, from: key, at: now) }
        devices[key]?.packages = []
      }
      devices[key]?.packages.removeAll { $0.given.map { $0 + Self.givenSpan <= now } ?? false }
    }
  }

  private mutating func end(_ letter: Letter, of id: Identifier, at now: Instant) {
    let name = letter.name
    for key in letter.waiting { devices[key]?.mailbox.removeAll { $0.name == name } }
    guard !letter.waiting.isEmpty, letter.missed == nil, account(of: name.sender) != nil else {
      if letter.missed != nil, !letter.waiting.isEmpty { untold.insert(name) }
      accounts[id]?.letters.removeAll { $0.name == name }
      return
    }
    expiredCount += 1
    change(name) { letter in
      (letter.missed, letter.waiting) = (letter.waiting, [name.sender])
      letter.due = now + Self.messageSpan
    }
    devices[name.sender]?.mailbox.append(Entry(name: name))
  }
}
