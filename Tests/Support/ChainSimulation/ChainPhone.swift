import Base
import Crypto
import JSON
import Simulation
import TestDevices
import TreeSimulation

/// An app on a device: it follows the chains of its account, checks their blocks, appends to them what it wants to be
/// changed, and reads its mailbox.
final class ChainPhone {
  /// Why a phone is not up to date for now.
  enum Pause: String, Error {
    /// An answer is missing.
    case interrupted
    /// There is no room for what it sends.
    case full
    /// Its key was revoked.
    case removed
  }

  /// What a person wants: others in a chain, or out of it. Without any, it renews the keys.
  struct Wish {
    let chain: Identifier
    var additions: [Key] = []
    var removals: [Key] = []
  }

  let device: TestDevice
  let account: Identifier
  private unowned let story: ChainStory
  /// The blocks of each chain that the phone sees.
  private(set) var views: [Identifier: [Block]] = [:]
  /// The chains that have the account's own devices.
  private(set) var own: Set<Identifier> = []
  private var wishes: [Wish] = []
  /// What has no answer yet.
  private var pending: (draft: Draft, wish: Wish)?
  /// What was stored, and may be replaced.
  private var stored: [(block: Block, wish: Wish)] = []
  private var unsent: [(chain: Identifier, letter: Letter)] = []
  /// The numbers under which each message came.
  private var read: [Mark: Set<Int64>] = [:]
  /// What waits for its acknowledgement, by the last reading.
  private var waiting: [Int64] = []

  private static let roundCountMax = 60

  init(_ story: ChainStory, _ device: TestDevice, _ account: Identifier) {
    (self.story, self.device, self.account) = (story, device, account)
  }

  var key: Key { device.key.publicKey.bytes }

  /// Whether nothing is left to be sent.
  var isIdle: Bool { wishes.isEmpty && pending == nil && unsent.isEmpty }

  /// How often a message came, besides readings of the same one.
  func count(_ kind: Letter.Kind, of block: Block) -> Int {
    read[Mark(kind: kind, bytes: block.hash)]?.count ?? 0
  }

  func want(_ wish: Wish) { wishes.append(wish) }

  func tell(_ chain: Identifier) { unsent.append((chain, story.message())) }

  /// Makes the block of a wish without sending it. Nil if there is nothing to do, or another one has no answer yet.
  func prepare(_ wish: Wish) -> Draft? {
    guard pending == nil, let draft = draft(of: wish) else { return nil }
    pending = (draft, wish)
    return draft
  }

  // MARK: The loop

  /// Nil once everything is sent, read and acknowledged.
  func keepUp() throws -> Pause? {
    do {
      // With what it knows. Others may have been faster.
      if story.chance(50) { try send() }
      try followAll()
      try readMail()
      try acknowledge()
      try send()
      try tellAll()
      return nil
    } catch let pause as Pause { return pause }
  }

  private func ask(_ act: ChainAct) throws -> Answer {
    guard let answer = try story.ask(act, self) else { throw Pause.interrupted }
    if answer.status == 401 { throw Pause.removed }
    return answer
  }

  // MARK: Reading chains

  private func followAll() throws {
    let chains = try ask(.chains).json["chains"].array ?? []
    let seen = chains.compactMap { $0["id"].identifier }
    own = Set(chains.filter { $0["own"].bool == true }.compactMap { $0["id"].identifier })
    for id in views.keys where !seen.contains(id) { forget(id) }
    for id in seen { try follow(id) }
  }

  private func forget(_ chain: Identifier) {
    views[chain] = nil
    stored.removeAll { $0.block.chain == chain }
  }

  private func follow(_ chain: Identifier) throws {
    // The last block may have been replaced.
    var since = views[chain]?.last.map { max(0, $0.epoch - 1) }
    var hasMore = true
    while hasMore {
      let answer = try ask(.blocks(chain, since: since, limit: story.pageLimit()))
      guard answer.status == 200 else { return forget(chain) }
      let json = try answer.json
      for one in json["blocks"].array ?? [] {
        guard let block = Block(one) else { throw Mismatch("a block of \(chain) is forged") }
        try take(block)
        since = block.epoch
      }
      hasMore = json["more"].bool == true
    }
    settle(chain)
  }

  /// Goes back by one block if another one took its place, and never further.
  private func take(_ block: Block) throws {
    var view = views[block.chain] ?? []
    if let last = view.last, last.epoch == block.epoch {
      guard last != block else { return }
      view.removeLast()
    }
    var members = Set(view.members.keys)
    guard block.parent == view.last?.hash, block.epoch == Int64(view.count),
      view.isEmpty || members.contains(block.author), members.isSuperset(of: block.removals)
    else { throw Mismatch("a block of \(block.chain) does not follow those before") }
    members.subtract(block.removals)
    guard members.isDisjoint(with: block.additions) else {
      throw Mismatch("a block of \(block.chain) adds a member again")
    }
    views[block.chain] = view + [block]
  }

  /// Wants again what was in a block whose place another one took. Only the last block can still be replaced.
  private func settle(_ chain: Identifier) {
    let view = views[chain] ?? []
    let known = stored.filter { $0.block.chain == chain && $0.block.epoch < Int64(view.count) }
    for (block, wish) in known {
      let isThere = view[Int(block.epoch)] == block
      if !isThere { wishes.append(wish) }
      guard !isThere || block != view.last else { continue }
      stored.removeAll { $0.block == block }
    }
  }

  // MARK: Appending

  private func draft(of wish: Wish) -> Draft? {
    guard let view = views[wish.chain], let head = view.last else { return nil }
    let members = view.members
    var (additions, removals) = (wish.additions, wish.removals.filter { $0 != key })
    if !story.chance(5) {
      removals = removals.filter { members[$0] != nil }
      additions = additions.filter { members[$0] == nil || removals.contains($0) }
    }
    let isRenewal = wish.additions.isEmpty && wish.removals.isEmpty
    guard isRenewal || !additions.isEmpty || !removals.isEmpty else { return nil }
    let block = Block(
      wish.chain, after: head.hash, head.epoch + 1, by: key, adding: additions,
      removing: removals)
    let isBare = story.chance(12)
    return Draft(
      block: block, commit: isBare ? nil : story.letter(.commit, of: block),
      welcome: isBare || additions.isEmpty ? nil : story.letter(.welcome, of: block),
      revokes: own.contains(wish.chain) && !removals.isEmpty && !story.chance(5))
  }

  private func next() -> (draft: Draft, wish: Wish)? {
    while !wishes.isEmpty {
      let wish = wishes.removeFirst()
      if let draft = draft(of: wish) { return (draft, wish) }
    }
    return nil
  }

  /// What was not answered is sent again as it was. Who was too late makes the block anew.
  private func send() throws {
    for _ in 0..<Self.roundCountMax {
      guard let (draft, wish) = pending ?? next() else { return }
      pending = (draft, wish)
      let answer = try ask(.append(draft))
      switch try answer.problem {
      case nil: stored.append((draft.block, wish))
      case "head_changed": wishes.insert(wish, at: 0)
      case "over_cap": throw Pause.full
      // It has renewed its keys after this block before, and did not see that yet.
      case "commit_differs": break
      case "blocks_refused", "chain_not_found", "invitation_not_taken": break
      default: throw Mismatch("a block: \(UnexpectedAnswer(answer))")
      }
      pending = nil
      try follow(draft.block.chain)
    }
    throw Mismatch("a phone never gets to the end of what it wants")
  }

  private func tellAll() throws {
    while let (chain, letter) = unsent.first {
      guard let head = views[chain]?.last else {
        unsent.removeFirst()
        continue
      }
      let answer = try ask(.tell(chain, epoch: head.epoch, letter))
      switch try answer.problem {
      case nil, "not_member", "chain_not_found": unsent.removeFirst()
      case "epoch_passed": try follow(chain)
      case "over_cap": throw Pause.full
      default: throw Mismatch("a message: \(UnexpectedAnswer(answer))")
      }
    }
  }

  // MARK: The mailbox

  private func readMail() throws {
    waiting = []
    var next: Int64 = 0
    while true {
      let page = try ask(.read(after: next, limit: story.pageLimit())).json
      for message in page["messages"].array ?? [] { try take(message) }
      guard let number = page["next"].integer else { return }
      next = number
    }
  }

  private func take(_ message: JSON) throws {
    guard let number = message["number"].integer, let body = message["body"].base64,
      let kind = message["kind"].string.flatMap({ Letter.Kind(rawValue: $0) })
    else { throw Mismatch("a message has no number, kind or body") }
    waiting.append(number)
    let mark = Mark(kind: kind, bytes: Array(body.prefix(32)))
    read[mark, default: []].insert(number)
    guard read[mark]?.count ?? 0 <= story.model.storedCounts[mark] ?? 0 else {
      throw Mismatch("a \(kind) comes twice")
    }
  }

  private func acknowledge() throws {
    for number in waiting where story.rough.isCalm || story.chance(80) {
      let answer = try ask(.acknowledge(number))
      guard answer.status == 204 else {
        throw Mismatch("an acknowledgement: \(UnexpectedAnswer(answer))")
      }
    }
  }
}
