import Base
import Tiers

/// What contents there must be, and what they are charged: plain values, counted from scratch at each question.
///
/// It follows requests by itself. What background work does at a time of its own choice, such as marking, purging or
/// dropping versions, is adopted from the rows, if it is allowed by now (`adopt`).
struct ContentModel {
  static let fee: Int64 = 1000
  static let graceSpan = Instant.Span.minutes(10)
  static let crowdedSpan = Instant.Span.seconds(5)
  static let uploadSpan = Instant.Span.hours(24)
  static let requestSpan = Instant.Span.hours(4)
  /// For how many days a plan counts after its end.
  static let formerPlanDays: Int64 = 3

  struct Content: Equatable {
    /// 0 for a document that has none.
    var number: Int64 = 0
    var bytes: [UInt8] = []
    /// Stays the same when the content becomes a version, and when it is restored.
    var tag = 0

    var byteCount: Int64 { Int64(bytes.count) }
  }

  struct Version: Equatable {
    let content: Content
    let replaced: Instant
  }

  enum Place: Equatable {
    case live
    case trashed(Identifier)
    /// Deleted for good.
    case gone
  }

  struct Node {
    let owner: Identifier
    let parent: Identifier
    let isFolder: Bool
    var place = Place.live
    var content = Content()
    /// Oldest first.
    var versions: [Version] = []

    var weight: Int64 { ContentModel.fee + content.byteCount }
    var historyByteCount: Int64 { versions.reduce(0) { $0 + $1.content.byteCount } }
  }

  struct Entry: Equatable {
    enum State: String { case kept, restoring, purging }
    var state = State.kept
    let deleted: Instant
  }

  struct Account {
    let root: Identifier
    var cap: Int64
    var plan: Plan
    var planSince = Instant(seconds: 0)
    /// The plans before, and when each ended.
    var former: [(limits: Plan.Limits, end: Instant)] = []
    var purges = false
    /// Links in its tree, which have no content.
    var linkCount: Int64 = 0
  }

  /// Room that is promised to an upload under way.
  struct Reservation: Equatable {
    let owner: Identifier
    let document: Identifier
    let writer: Identifier
    let byteCount: Int64
    var expires: Instant
  }

  var accounts: [Identifier: Account] = [:]
  var nodes: [Identifier: Node] = [:]
  /// In order of creation, for seeds to choose from.
  private(set) var order: [Identifier] = []
  var trash: [Identifier: Entry] = [:]
  /// The sharees' access to the shared folder.
  var shared: Identifier?
  var sharees: [Identifier: Bool] = [:]
  /// What folders may hold, as their owner said.
  var caps: [Identifier: Int64] = [:]
  /// By a number of the story's.
  var reservations: [Int: Reservation] = [:]
  /// When a content was no longer kept, by its tag.
  private(set) var left: [Int: Instant] = [:]
  /// The replaced contents that are not kept, by document: who was told of one can still read it for a while.
  private(set) var former: [Identifier: [Content]] = [:]
  /// The owners whose unused objects were so many that downloads had less time.
  var crowded: Set<Identifier> = []
  private var lastTag = 0

  mutating func add(_ id: Identifier, _ node: Node) {
    nodes[id] = node
    order.append(id)
  }

  // MARK: Questions

  /// The node and all above it.
  func chain(_ id: Identifier) -> [Identifier] {
    var chain: [Identifier] = []
    var next = id
    while let node = nodes[next], !chain.contains(next) {
      chain.append(next)
      next = node.parent
    }
    return chain
  }

  func isLive(_ id: Identifier) -> Bool { chain(id).allSatisfy { nodes[$0]?.place == .live } }

  /// Nil: sees nothing of it; otherwise whether it may write.
  func mayWrite(_ account: Identifier, _ id: Identifier) -> Bool? {
    guard let node = nodes[id] else { return nil }
    if node.owner == account { return true }
    guard let shared, chain(id).contains(shared) else { return nil }
    return sharees[account]
  }

  func historyByteCount(_ account: Identifier) -> Int64 {
    nodes.values.filter { $0.owner == account }.reduce(0) { $0 + $1.historyByteCount }
  }

  func trashByteCount(_ account: Identifier) -> Int64 {
    nodes.values.filter { node in
      if case .trashed = node.place { node.owner == account } else { false }
    }.reduce(0) { $0 + $1.weight }
  }

  func liveByteCount(_ account: Identifier) -> Int64 {
    nodes.values.filter { $0.owner == account && $0.place == .live }.reduce(
      Self.fee * (accounts[account]?.linkCount ?? 0)
    ) { $0 + $1.weight }
  }

  func usage(_ account: Identifier) -> Int64 {
    liveByteCount(account) + historyByteCount(account) + trashByteCount(account)
  }

  /// What an owner is charged for below a folder.
  func heldByteCount(_ folder: Identifier) -> Int64 {
    order.reduce(0) { sum, id in
      guard id != folder, let node = nodes[id], chain(id).contains(folder) else { return sum }
      return sum + (node.place == .gone ? 0 : node.weight) + node.historyByteCount
    }
  }

  /// Whether a folder, and all above it, have room beside what uploads under way add.
  func fits(_ delta: Int64, in folder: Identifier, beside reserved: [Reservation] = []) -> Bool {
    delta <= 0
      || chain(folder).allSatisfy { id in
        guard let cap = caps[id] else { return true }
        let promised = reserved.filter { $0.document != id && chain($0.document).contains(id) }
          .reduce(0) { $0 + max(0, $1.byteCount - (nodes[$1.document]?.content.byteCount ?? 0)) }
        return heldByteCount(id) + promised + delta <= cap
      }
  }

  func reserved(_ account: Identifier, at now: Instant) -> [Reservation] {
    reservations.values.filter { $0.owner == account && $0.expires > now }
  }

  // MARK: What is kept

  /// When what an owner replaced or deleted at a moment is kept no longer.
  func end(
    of moment: Instant, _ owner: Identifier, _ days: (Plan.Limits) -> Int64?
  ) -> Instant {
    guard let account = accounts[owner] else { return moment }
    let end = moment + .days(days(account.plan.limits) ?? 0)
    return account.former.filter { moment < $0.end }.reduce(end) { end, former in
      max(
        end, min(moment + .days(days(former.limits) ?? 0), former.end + .days(Self.formerPlanDays)))
    }
  }

  func isDue(_ version: Version, of owner: Identifier, at now: Instant) -> Bool {
    end(of: version.replaced, owner, \.historyDays) <= now
  }

  /// The versions of a document that are too many once its content is a version, too. The newest eight of them go.
  private func surplus(_ node: Node, _ owner: Account, at now: Instant) -> [Version] {
    guard let countMax = owner.plan.limits.historyVersionCount else { return [] }
    let over = node.versions.reversed().dropFirst(Int(countMax) - 1).prefix(8)
    return over.enumerated().filter { index, version in
      let counting = owner.former.filter { former in
        version.replaced < former.end && now < former.end + .days(Self.formerPlanDays)
      }
      let counts = ([owner.plan.limits] + counting.map(\.limits)).map { limits in
        limits.historyDays ?? 0 > 0 ? limits.historyVersionCount ?? .max : 0
      }
      return countMax + Int64(index) >= counts.max() ?? .max
    }.map(\.element)
  }

  // MARK: What a write of content does

  enum Verdict: Equatable {
    case refused(Int)
    /// Whether the replaced content is kept, and the versions that go because there are more than the plan keeps.
    case accepted(keeps: Bool, surplus: [Version])
  }

  /// Whether an account may now replace a document's content. `ifMatch` is nil if any version will do.
  func judge(
    _ id: Identifier, by account: Identifier, ifMatch: Int64?, byteCount: Int64,
    beside reservations: [Reservation] = [], at now: Instant
  ) -> Verdict {
    guard let mayWrite = mayWrite(account, id), let node = nodes[id] else { return .refused(404) }
    guard isLive(id) else { return .refused(410) }
    guard !node.isFolder else { return .refused(409) }
    guard mayWrite else { return .refused(403) }
    guard ifMatch == nil || ifMatch == node.content.number else { return .refused(412) }
    let growth = byteCount - node.content.byteCount
    guard let owner = accounts[node.owner] else { return .refused(404) }
    let reserved = reservations.reduce(0) { $0 + $1.byteCount }
    if node.content.number > 0, owner.plan.limits.historyDays ?? 0 > 0 {
      let surplus = surplus(node, owner, at: now)
      let delta = byteCount - surplus.reduce(0) { $0 + $1.content.byteCount }
      let lack = lack(node.owner, delta, growth, reserved)
      if lack == nil, fits(delta, in: node.parent, beside: reservations) {
        return .accepted(keeps: true, surplus: surplus)
      }
      if let lack, growth > 0 { return .refused(lack) }
    }
    if let lack = lack(node.owner, growth, growth, reserved) { return .refused(lack) }
    return fits(growth, in: node.parent, beside: reservations)
      ? .accepted(keeps: false, surplus: []) : .refused(507)
  }

  /// The status of a write that has no room; nil if it has.
  func lack(
    _ account: Identifier, _ delta: Int64, _ growth: Int64, _ reserved: Int64
  ) -> Int? {
    guard delta > 0, let owner = accounts[account] else { return nil }
    let needed = usage(account) + reserved + delta
    guard needed > owner.cap else { return nil }
    guard owner.purges, growth <= 0 || liveByteCount(account) + reserved + growth <= owner.cap
    else { return 507 }
    return needed <= 2 * owner.cap ? nil : 429
  }

  /// Whether a download of the content that began before must be able to go on.
  func isReadable(_ tag: Int, of owner: Identifier, at now: Instant) -> Bool {
    guard let left = left[tag] else { return true }
    return now < left + (crowded.contains(owner) ? Self.crowdedSpan : Self.graceSpan)
  }

  /// Replaces a document's content. `number` is the server's; `tag` is that of a version that is restored.
  mutating func replace(
    _ id: Identifier, with bytes: [UInt8], number: Int64, tag: Int? = nil, _ verdict: Verdict,
    at now: Instant
  ) {
    guard case .accepted(let keeps, let surplus) = verdict, var node = nodes[id] else { return }
    lastTag += 1
    let old = node.content
    for version in surplus { left[version.content.tag] = now }
    node.versions.removeAll { surplus.contains($0) }
    if keeps {
      node.versions.append(Version(content: old, replaced: now))
    } else if old.number > 0 {
      left[old.tag] = now
      former[id, default: []].append(old)
    }
    node.content = Content(number: number, bytes: bytes, tag: tag ?? lastTag)
    nodes[id] = node
  }

  /// Takes the content of a node that is gone.
  mutating func drop(_ id: Identifier, at now: Instant) {
    guard let content = nodes[id]?.content else { return }
    nodes[id]?.place = .gone
    if content.number > 0 { left[content.tag] = now }
    nodes[id]?.content.bytes = []
  }

  /// Takes a version of a node.
  mutating func drop(_ version: Version, of id: Identifier, at now: Instant) {
    nodes[id]?.versions.removeAll { $0.content.number == version.content.number }
    left[version.content.tag] = now
  }
}
