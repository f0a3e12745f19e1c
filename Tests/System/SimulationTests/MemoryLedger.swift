import Base
import KnownStores
import Stores
import Subscriptions
import Tiers

/// The ledger's rules over dictionaries, whose result the database's rows must equal.
struct MemoryLedger {
  private var mirrors: [ObjectKey: Mirror<AnyStoreObject>] = [:]
  private var origins: [ObjectKey: [Link]] = [:]
  private var targets: Set<Link> = []
  private var claims: [ObjectKey: [Decisions.Assignment]] = [:]
  private var deletions: [Identifier: Int64] = [:]

  mutating func join(_ facts: [Fact], delivery: Int64) {
    for fact in facts {
      mirrors[fact.key, default: Mirror()]
        .insert(.init(fact.object, asOf: fact.asOf), delivery: delivery)
      for link in fact.links where targets.insert(link).inserted {
        origins[link.target, default: []].append(link)
      }
    }
  }

  mutating func claim(_ key: ObjectKey, by account: Identifier, sequence: Int64) {
    guard subscription(key).ownership.account == nil else { return }
    claims[key, default: []].append(.init(sequence: sequence, account: account))
  }

  mutating func delete(_ account: Identifier, sequence: Int64) { deletions[account] = sequence }

  /// Every subscription that anything was reported of, ascending.
  var keys: [ObjectKey] {
    let named = targets.flatMap { [$0.origin, $0.target] } + mirrors.keys
    return Set(
      named.filter { $0.kind == StoreList.known[$0.provider]?.traits.subscriptionKind }
    ).sorted()
  }

  func subscription(_ key: ObjectKey, _ visited: Set<ObjectKey> = []) -> Subscription {
    var subscription = StoreList.known[key.provider]!.subscription(key)
    for (object, observations) in parts(of: key) {
      insert(observations, of: object, into: &subscription)
    }
    for companion in subscription.companions {
      if let mirror = mirrors[companion] { insert(mirror, of: companion, into: &subscription) }
    }
    let older = (origins[key] ?? []).filter { $0.kind == .predecessor }.map { $0.origin }.sorted()
    subscription.predecessor =
      older.lazy.filter { !visited.contains($0) }.compactMap {
        self.subscription($0, visited.union([key])).ownership.account
      }.first
    subscription.decisions = Decisions(claims: claims[key] ?? [], deletions: deletions)
    return subscription
  }

  private func parts(of key: ObjectKey) -> [ObjectKey: Mirror<AnyStoreObject>] {
    var open = [key]
    var seen: Set<ObjectKey> = [key]
    var index = 0
    while index < open.count {
      for link in origins[open[index]] ?? [] where link.kind != .predecessor {
        guard seen.insert(link.origin).inserted, link.kind == .bridge else { continue }
        open.append(link.origin)
      }
      index += 1
    }
    return mirrors.filter { seen.contains($0.key) }
  }

  private func insert(
    _ mirror: Mirror<AnyStoreObject>, of key: ObjectKey, into subscription: inout Subscription
  ) {
    for entry in mirror.entries {
      subscription.insert(
        Fact(key: key, object: entry.observation.content, asOf: entry.observation.asOf),
        delivery: entry.delivery)
    }
  }
}

/// Everything that the order may not change: coverage, label, owner and schedule.
struct Digest: Equatable, CustomStringConvertible {
  let lines: [String]

  init(_ ledger: MemoryLedger, catalogue: Catalogue, policy: Policy = .standard, until end: Instant)
  {
    var lines: [String] = []
    var coverages: [Identifier: [Coverage]] = [:]
    for key in ledger.keys {
      let subscription = ledger.subscription(key)
      let coverage = subscription.coverage(policy: policy, catalogue: catalogue)
      let ownership = subscription.ownership
      if let owner = ownership.account { coverages[owner, default: []].append(coverage) }
      lines.append("\(key) of \(ownership.account?.description ?? "nobody")")
      for interval in coverage.intervals {
        lines.append("  \(interval.from) \(interval.to) \(interval.planID) \(interval.why)")
      }
      for ending in coverage.endings { lines.append("  ends \(ending.at) \(ending.reason)") }
      let moments = Set(coverage.intervals.flatMap { [$0.from, $0.to] } + [end]).sorted()
      for moment in moments {
        lines.append("  \(moment) \(subscription.label(coverage, at: moment))")
      }
      lines.append("  renews \(subscription.willRenew)")
    }
    for (account, coverages) in coverages.sorted(by: { $0.key < $1.key }) {
      lines.append("account \(account)")
      for step in Schedule(coverages, catalogue: catalogue).boundaries {
        lines.append("  \(step.from) \(step.capByteCount) \(step.planID) \(step.reason)")
      }
    }
    self.lines = lines
  }

  var description: String { lines.joined(separator: "\n") }

  /// The first difference, for a failure's message.
  func difference(from other: Digest) -> String {
    let mine = lines.filter { !other.lines.contains($0) }
    let theirs = other.lines.filter { !lines.contains($0) }
    return "found \(mine.prefix(6)), expected \(theirs.prefix(6))"
  }
}
