import Accounts
import Base
import Crypto
import Storage
import Streams

/// Finds the devices that are to be woken, and plans their wake-ups as rows.
///
/// News only say which accounts to look at. A device is woken if the account differs from what it was last woken for.
/// So instances that hear the same news plan one wake-up, and lost news are made good by the next look.
struct Watcher: Sendable {
  let host: ProtocolHost
  let protocols: [any ProtocolRoom.Type]
  let limits: WakeUpLimits

  /// The accounts whose news are looked into together.
  static let heardCountMax = 500
  private static let slice = 50

  private enum Step: Sendable {
    case plan(PushRow, at: Instant)
    case note(PushRow, number: Int64)
  }

  /// Returns what is left for the next turn, because more accounts follow those of the news than one turn looks at.
  func look(
    into heard: [Identifier: Overheard.Entry]
  ) throws -> [Identifier: Overheard.Entry] {
    guard !heard.isEmpty else { return [:] }
    let now = host.clock.now()
    let (steps, left) = try host.database.read { reader in
      var looked = heard
      var left: [Identifier: Overheard.Entry] = [:]
      var found = try followers(of: looked, reader)
      while found.isCut, looked.count > 1 {
        for (account, entry) in looked.prefix(looked.count / 2) {
          looked[account] = nil
          left[account] = entry
        }
        found = try followers(of: looked, reader)
      }
      let accounts = Set(looked.keys).union(found.accounts)
      let steps = try decided(for: accounts, reader, now: now) { row, seen -> Step? in
        // Who follows one log of an owner's is not woken by another.
        guard
          looked[row.account] != nil
            || seen.followed.keys.contains(where: { looked[$0.owner]?.concerns($0) ?? false })
        else { return nil }
        // Its own changes wake no device, nor does what was quiet. Those of others, which may have come in between, do.
        if row.digest == seen.digest, let entry = looked[row.account],
          entry.isNothing(to: row.publicKey, after: row.number, upTo: seen.number)
        {
          return .note(row, number: seen.number)
        }
        return .plan(row, at: earliest(row, now))
      }
      return (steps, left)
    }
    try take(steps)
    return left
  }

  /// Looks at the next accounts in the order of ids. Returns the last of them; nil if there are no more.
  func lookOn(after account: Identifier?) throws -> Identifier? {
    let now = host.clock.now()
    let (last, steps) = try host.database.read { reader in
      let accounts = try PushRow.accounts(after: account, atMost: Self.slice, reading: reader)
      let steps = try decided(for: Set(accounts), reader, now: now) { row, _ -> Step? in
        // Spread, because many may have changed while no one listened.
        let spread = Int64.random(in: 0...limits.pause.milliseconds)
        return .plan(row, at: earliest(row, now) + .milliseconds(spread))
      }
      return (accounts.count == Self.slice ? accounts.last : nil, steps)
    }
    try take(steps)
    return last
  }

  private func earliest(_ row: PushRow, _ now: Instant) -> Instant {
    row.sent.map { max(now, $0 + limits.pause) } ?? now
  }

  private func followers(
    of heard: [Identifier: Overheard.Entry], _ reader: Reader
  ) throws -> (accounts: Set<Identifier>, isCut: Bool) {
    var owners: [News.Topic: [Identifier]] = [:]
    for (account, entry) in heard {
      for topic in entry.topics where topic != .account {
        owners[topic, default: []].append(account)
      }
    }
    var (followers, isCut): (Set<Identifier>, Bool) = ([], false)
    for (topic, owners) in owners {
      for room in protocols {
        let found = try room.followers(
          of: owners, in: topic, atMost: limits.followerCountMax, reading: reader)
        followers.formUnion(found)
        isCut = isCut || found.count >= limits.followerCountMax
      }
    }
    return (followers, isCut)
  }

  /// What `decide` says of the devices whose account has changed; nil: nothing yet.
  private func decided(
    for accounts: Set<Identifier>, _ reader: Reader, now: Instant,
    _ decide: (PushRow, Look.Seen) -> Step?
  ) throws -> [Step] {
    let rows = try PushRow.quiet(of: accounts, reading: reader)
    let seen = try Look.see(Array(Set(rows.map(\.account))), of: protocols, reader, now: now)
    // In the order of keys, so that no two instances wait for each other.
    return rows.sorted { $0.publicKey.lexicographicallyPrecedes($1.publicKey) }.compactMap { row in
      guard let seen = seen[row.account], !seen.isShut, row.differs(from: seen) else { return nil }
      return decide(row, seen)
    }
  }

  private func take(_ steps: [Step]) throws {
    guard !steps.isEmpty else { return }
    try host.database.write(for: nil) { transaction in
      for step in steps {
        switch step {
        case .plan(let row, let due): try row.plan(at: due, in: transaction)
        case .note(let row, let number): try row.note(number, in: transaction)
        }
      }
    }
  }
}
