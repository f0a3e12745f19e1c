import Base
import Glibc
import JSON
import SeededRandom
import TestDevices
import Testing

/// A device that only pulls, continuously and in small pages, and observes its account's usage.
final class TreeReader: Sendable {
  let device: TestDevice
  private let state: Locked<State>

  private struct State {
    var random: SeededGenerator
    var replica: Replica
    var trouble: [String] = []
    var highestUsage: Int64 = 0
  }

  private static let patience = Instant.Span.seconds(60)
  private static let recordFee: Int64 = 1000

  init(_ device: TestDevice, seed: UInt64) {
    self.device = device
    state = Locked(State(random: SeededGenerator(seed: seed), replica: Replica(device)))
  }

  var trouble: [String] { state.withLock { $0.trouble + $0.replica.troubles } }
  /// The highest usage that was ever seen.
  var highestUsage: Int64 { state.withLock { $0.highestUsage } }

  func run(until isOver: @Sendable () -> Bool) {
    state.withLock { state in
      do {
        while !isOver() {
          try state.replica.pullPage(limit: .random(in: 1...9, using: &state.random))
          state.highestUsage = max(state.highestUsage, try usage())
        }
      } catch {
        state.trouble.append("\(error)")
      }
    }
  }

  /// Pulls the rest after all sweeps, and compares it with a device that starts now.
  func check(against history: TreeHistory) throws {
    let (kept, fresh) = try state.withLock { state in
      try state.replica.pull(limit: 7)
      var fresh = Replica(device)
      try fresh.pull(limit: 1000)
      return (state.replica, fresh)
    }
    #expect(trouble == [])
    let account = try device.account
    let wrong = Set(kept.tree.keys).union(fresh.tree.keys)
      .filter { !Self.agree(kept.tree[$0], fresh.tree[$0], seenBy: account) }
    let example = wrong.first.map { id in
      "\(String(describing: kept.records[id])) but \(String(describing: fresh.records[id]))"
    }
    #expect(wrong == [], "told bit by bit: \(example ?? "")")
    let shares = Set(kept.shares.keys).union(fresh.shares.keys)
      .filter { kept.shares[$0] != fresh.shares[$0] }
    #expect(shares == [], "shares differ")
    try check(fresh, against: history)
  }

  /// Whether two records agree. A file that is only offered is reported again when it changes. It is not
  /// reported again when its owner lets others in, which gives it another number.
  private static func agree(
    _ kept: SeenRecord?, _ fresh: SeenRecord?, seenBy account: Identifier
  ) -> Bool {
    guard let kept, let fresh else { return kept == nil && fresh == nil }
    guard kept != fresh else { return true }
    let isOffered = fresh.owner != account && fresh.shares.first?.state == "pending"
    return isOffered && kept.statement == fresh.statement
      && kept.contentVersion == fresh.contentVersion
      && kept.contentByteCount == fresh.contentByteCount && kept.shares == fresh.shares
  }

  /// Expects the account's own tree to be the result of its acknowledged changes, in their order.
  private func check(_ replica: Replica, against history: TreeHistory) throws {
    let owner = try device.account
    let (tree, violations) = history.replay(of: owner, root: device.root)
    #expect(violations == [])
    let own = replica.records.filter { $0.value.owner == owner }
    #expect(Set(own.keys) == Set(tree.keys))
    let wrong = own.values.filter { record in
      guard let node = tree[record.id] else { return true }
      return node.parent != record.parent || node.hmac != record.name?.hmac ?? []
        || node.isFolder != (record.type == "folder")
        || (node.isDeleted && !record.deleted)
        || (record.deleted && !node.isDeleted && record.deletedWith == nil)
    }
    #expect(wrong.map(\.id) == [], "the tree is not what was acknowledged")
  }

  /// Waits until the sweep has been there; then deleted files cost nothing.
  func waitForSweep() throws {
    let deadline = MonotonicTime.now() + Self.patience
    var seen: Int64 = 0
    var due: Int64 = -1
    while seen != due, MonotonicTime.now() < deadline {
      var replica = Replica(device)
      try replica.pull(limit: 1000)
      let owner = try device.account
      due = replica.tree.values.filter { $0.owner == owner }.reduce(0) {
        $0 + Self.recordFee + ($1.contentByteCount ?? 0)
      }
      seen = try usage()
      if seen != due { usleep(100_000) }
    }
    #expect(seen == due, "usage is not what the live records weigh")
  }

  func usage() throws -> Int64 {
    let answer = try device.get("/v1/account")
    guard answer.status == 200, let usage = try answer.json["usage"].integer else {
      throw UnexpectedAnswer(answer)
    }
    return usage
  }
}
