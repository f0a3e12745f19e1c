import Base

/// What coffer-sync must answer and keep of chains and of their mail: plain values, counted from scratch at each question.
struct ChainModel {
  struct Chain {
    let owner: Identifier
    let isOwn: Bool
    var blocks: [Block]
    /// When the last block was stored.
    var stored: Instant
    /// The last block whose place another one took.
    var replaced: Block?
    /// Accounts that left, as long as devices of them are members.
    var left: Set<Identifier> = []
    /// The commit of each block that came with mail, and the members to whom it must come, by the block's hash.
    var commits: [[UInt8]: (id: Identifier, readers: [Key])] = [:]

    var head: Block { blocks[blocks.count - 1] }
    var members: [Key: Int64] { blocks.members }
    var charge: Int64 {
      blocks.reduce(1000) { $0 + 256 + 128 * Int64($1.additions.count + $1.removals.count) }
    }

    /// The rule of forks: of two blocks after one parent, that of the device counts that has been a member for longer,
    /// then that of the smaller key. One that came first stays if it removes anyone, or is older than a day.
    func givesWay(to block: Block, at now: Instant) -> Bool {
      let before = Array(blocks.dropLast())
      guard block.parent == head.parent, head.removals.isEmpty, now - stored <= .days(1),
        let joined = before.members[block.author], let other = before.members[head.author]
      else { return false }
      return joined == other
        ? block.author.lexicographicallyPrecedes(head.author) : joined < other
    }
  }

  /// A message, named by the device that sent it and the id that it chose.
  struct Name: Hashable {
    let sender: Key
    let id: Identifier
  }

  struct Mail {
    let name: Name
    let letter: Letter
    let takers: [Key]
    let refused: [Key]
    var waiting: Set<Key>
    /// When it goes, once nobody waits for it.
    var due: Instant?

    var charge: Int64 {
      Int64(1000 + 128 + letter.body.count + 128 * takers.count + 33 * refused.count)
    }
  }

  /// A message in a mailbox, and its number there once a device has read it.
  struct Entry {
    let name: Name
    var number: Int64?
  }

  struct Device {
    let account: Identifier
    var isRevoked = false
    var mailbox: [Entry] = []
  }

  struct Account {
    /// The charge of the account without chains and messages.
    let base: Int64
    var cap: Int64
    /// What it sent, in the order of storing.
    var mail: [Mail] = []
  }

  enum Outcome {
    case refused(Int, String)
    /// Blocks that break a rule.
    case broken(String)
    case done
    /// With the devices that do not take a message.
    case appended(isRepeated: Bool, refused: [Key])
    case sent(refused: [Key])
  }

  var accounts: [Identifier: Account] = [:]
  var devices: [Key: Device] = [:]
  /// The accounts that know each other.
  var contacts: Set<Set<Identifier>> = []
  private(set) var chains: [Identifier: Chain] = [:]
  /// Deleted chains whose rows are still there.
  private var ended: Set<Identifier> = []
  /// How often a message was stored: again only after it had gone.
  private(set) var storedCounts: [Mark: Int] = [:]
  /// What took effect.
  private(set) var appendedCount = 0
  private(set) var replacedCount = 0

  private static let fullAccount = Outcome.refused(507, "over_cap")
  private static let notFound = Outcome.refused(404, "chain_not_found")
  private static let notInvited = Outcome.refused(409, "invitation_not_taken")

  // MARK: Questions

  /// The account of a device that may make requests.
  func account(of device: Key) -> Identifier? {
    devices[device].flatMap { $0.isRevoked ? nil : $0.account }
  }

  func usage(of id: Identifier) -> Int64 {
    chains.values.filter { $0.owner == id }.reduce(accounts[id]?.base ?? 0) { $0 + $1.charge }
      + (accounts[id]?.mail ?? []).reduce(0) { $0 + $1.charge }
  }

  private func hasRoom(_ id: Identifier, for growth: Int64) -> Bool {
    growth <= 0 || usage(of: id) + growth <= accounts[id]?.cap ?? 0
  }

  /// The accounts that have devices among the members, also revoked ones.
  private func parties(of chain: Chain) -> Set<Identifier> {
    Set(chain.members.keys.compactMap { devices[$0]?.account })
  }

  /// A chain that an account reads.
  func chain(_ id: Identifier, seenBy account: Identifier) -> Chain? {
    guard let chain = chains[id], !chain.left.contains(account) else { return nil }
    return parties(of: chain).contains(account) ? chain : nil
  }

  /// The members to whom a message of another one goes.
  private func readers(in chain: Chain, besides sender: Key) -> [Key] {
    chain.members.keys.filter { key in
      key != sender && account(of: key).map { !chain.left.contains($0) } ?? false
    }
  }

  // MARK: Chains

  mutating func make(_ root: Block, isOwn: Bool, by author: Key, at now: Instant) -> Outcome {
    guard let id = account(of: author), chains[root.chain] == nil else { return .done }
    guard !ended.contains(root.chain) else { return .refused(409, "chain_exists") }
    let chain = Chain(owner: id, isOwn: isOwn, blocks: [root], stored: now)
    guard hasRoom(id, for: chain.charge) else { return Self.fullAccount }
    chains[root.chain] = chain
    return .done
  }

  mutating func leave(_ id: Identifier, by account: Identifier) -> Outcome {
    guard let chain = chain(id, seenBy: account) else { return Self.notFound }
    if chain.owner == account {
      chains[id] = nil
      ended.insert(id)
    } else {
      chains[id]?.left.insert(account)
    }
    return .done
  }

  /// Stores a block with its mail, or nothing.
  mutating func append(_ draft: Draft, of account: Identifier, at now: Instant) -> Outcome {
    let block = draft.block
    guard var chain = chain(block.chain, seenBy: account) else { return Self.notFound }
    if chain.blocks.contains(block) {
      // Two renewals after one block are the same block.
      guard draft.commit == nil || draft.commit?.id == chain.commits[block.hash]?.id else {
        return .refused(409, "commit_differs")
      }
      return .appended(isRepeated: true, refused: [])
    }
    let isFork = block.parent != chain.head.hash
    if isFork {
      guard chain.givesWay(to: block, at: now) else { return .refused(409, "head_changed") }
      chain.replaced = chain.blocks.removeLast()
    }
    if let rule = rule(of: draft, after: chain) { return .broken(rule) }
    let joining = Set(block.additions.compactMap { devices[$0]?.account })
    let strangers = joining.subtracting(parties(of: chain)).subtracting([account])
    guard joining.isDisjoint(with: chain.left),
      strangers.allSatisfy({ contacts.contains([account, $0]) })
    else { return Self.notInvited }
    var next = self
    let readers = readers(in: chain, besides: block.author)
    let leaving = revoked(by: block, in: chain)
    if let commit = draft.commit { chain.commits[block.hash] = (commit.id, readers) }
    chain.blocks.append(block)
    chain.stored = now
    chain.left.formIntersection(parties(of: chain))
    next.chains[block.chain] = chain
    let isFree = block.additions.isEmpty && !block.removals.isEmpty
    let growth = next.usage(of: chain.owner) - usage(of: chain.owner)
    guard isFree || hasRoom(chain.owner, for: growth) else { return Self.fullAccount }
    for key in leaving { next.devices[key]?.isRevoked = true }
    var refused: [Key] = []
    for (letter, receivers) in [(draft.commit, readers), (draft.welcome, block.additions)] {
      guard let letter else { continue }
      guard
        let found = next.send(letter, to: receivers, by: block.author, mustFit: !isFree)
      else { return Self.fullAccount }
      refused += found
    }
    self = next
    appendedCount += 1
    replacedCount += isFork ? 1 : 0
    return .appended(isRepeated: false, refused: refused)
  }

  /// The rule that a block breaks after the last one of a chain; nil if it breaks none.
  private func rule(of draft: Draft, after chain: Chain) -> String? {
    let block = draft.block
    var members = chain.members
    guard members[block.author] != nil else { return "author_not_member" }
    for key in block.removals where members.removeValue(forKey: key) == nil { return "not_member" }
    for key in block.additions where members.updateValue(block.epoch, forKey: key) != nil {
      return "already_member"
    }
    guard draft.revokes || revoked(by: block, in: chain).isEmpty else {
      return "revocation_missing"
    }
    for key in block.additions {
      guard let account = account(of: key), !chain.isOwn || account == chain.owner else {
        return "device_unknown"
      }
    }
    return members.keys.contains { devices[$0]?.account == chain.owner } ? nil : "owner_leaves"
  }

  /// The devices that a block of an account's own chain revokes.
  private func revoked(by block: Block, in chain: Chain) -> [Key] {
    guard chain.isOwn else { return [] }
    return block.removals.filter { account(of: $0) != nil && !block.additions.contains($0) }
  }

  // MARK: Mail

  mutating func tell(
    _ letter: Letter, to id: Identifier, epoch: Int64, by sender: Key, of account: Identifier
  ) -> Outcome {
    guard let chain = chain(id, seenBy: account) else { return Self.notFound }
    guard chain.members[sender] != nil else { return .refused(403, "not_member") }
    let known = mail(Name(sender: sender, id: letter.id))
    if let known { return .sent(refused: known.refused) }
    guard chain.head.epoch == epoch else { return .refused(409, "epoch_passed") }
    let refused = send(letter, to: readers(in: chain, besides: sender), by: sender)
    return refused.map { .sent(refused: $0) } ?? Self.fullAccount
  }

  /// Returns the devices that do not take the message; nil if there is no room for it. The commit of a removal needs none.
  private mutating func send(
    _ letter: Letter, to receivers: [Key], by sender: Key, mustFit: Bool = true
  ) -> [Key]? {
    let name = Name(sender: sender, id: letter.id)
    if let known = mail(name) { return known.refused }
    let takers = receivers.filter { account(of: $0) != nil }
    let refused = receivers.filter { account(of: $0) == nil }
    guard let id = devices[sender]?.account, !takers.isEmpty else { return refused }
    let new = Mail(
      name: name, letter: letter, takers: takers, refused: refused, waiting: Set(takers))
    guard !mustFit || hasRoom(id, for: new.charge) else { return nil }
    accounts[id]?.mail.append(new)
    for key in takers { devices[key]?.mailbox.append(Entry(name: name)) }
    storedCounts[letter.mark, default: 0] += 1
    return refused
  }

  func mail(_ name: Name) -> Mail? {
    let account = devices[name.sender]?.account
    return account.flatMap { accounts[$0]?.mail.first { $0.name == name } }
  }

  /// What waits for a device after the message of a number. One without a number came after all that the device read.
  func entries(of device: Key, after number: Int64) -> [Entry] {
    (devices[device]?.mailbox ?? []).filter { $0.number ?? .max > number }
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

  /// A message stays for an hour after its last acknowledgement, so that it can be repeated.
  private mutating func take(_ name: Name, from device: Key, at now: Instant) {
    devices[device]?.mailbox.removeAll { $0.name == name }
    guard let id = devices[name.sender]?.account,
      let index = accounts[id]?.mail.firstIndex(where: { $0.name == name })
    else { return }
    accounts[id]?.mail[index].waiting.remove(device)
    if accounts[id]?.mail[index].waiting.isEmpty ?? false {
      accounts[id]?.mail[index].due = now + .hours(1)
    }
  }

  /// What is due goes, and so do the mailboxes of revoked devices.
  mutating func sweep(at now: Instant) {
    ended = []
    for id in accounts.keys {
      accounts[id]?.mail.removeAll { $0.due.map { $0 <= now } ?? false }
    }
    for (key, device) in devices where device.isRevoked {
      for entry in device.mailbox { take(entry.name, from: key, at: now) }
    }
  }
}
