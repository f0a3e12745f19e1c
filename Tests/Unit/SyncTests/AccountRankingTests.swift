import Accounts
import Base
import SeededRandom
import Storage
import TestEngines
import Testing
import Tiers

/// Lists of accounts in orders for which there is no index.
@Suite struct AccountRankingTests {
  private static let now = Instant(seconds: 1_790_000_000)
  private static let catalogue = Catalogue.standard

  private struct Known {
    let id: Identifier
    let created: Instant
    let usage: Int64
    let cap: Int64
    let plan: String
    let isSuspended: Bool
    let traffic: Int64
  }

  /// Accounts whose numbers are often equal. Some have no schedule, and some have one that begins later.
  private static func fill(
    _ scratch: ScratchDatabase, count: Int, _ random: inout SeededGenerator
  ) throws -> [Known] {
    let free = catalogue.free
    var all: [Known] = []
    for _ in 0..<count {
      let isScheduled = Bool.random(using: &random)
      all.append(
        Known(
          id: Identifier(high: random.next(), low: random.next()),
          created: now - .seconds(Int64.random(in: 0...5, using: &random)),
          usage: Int64.random(in: 0...4, using: &random) * 1_000_000,
          cap: isScheduled ? Int64.random(in: 0...3, using: &random) * 1_000_000 : free.byteCount,
          plan: isScheduled ? "premium" : free.id,
          isSuspended: Int.random(in: 0..<4, using: &random) == 0,
          traffic: Int64.random(in: 0...3, using: &random)))
    }
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    let billing = try Database.open(scratch.location, owning: .billing)
    defer { billing.close() }
    try sync.write(for: nil) { [all] transaction in
      for account in all {
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms, suspended_ms)
          VALUES ($1, $1, 0, $2, $3, $4)
          """, .id(account.id), .integer(account.usage), .instant(account.created),
          account.isSuspended ? .instant(now) : .null)
        for (month, byteCount) in [(now.month, account.traffic), (202_001, 9)] {
          try transaction.execute(
            """
            INSERT INTO sync.transfers (owner_id, month, sent_bytes, received_bytes)
            VALUES ($1, $2, $3, 0)
            """, .id(account.id), .integer(month), .integer(byteCount))
        }
      }
    }
    try billing.write(for: nil) { [all] transaction in
      for account in all where account.plan == "premium" {
        for (from, cap) in [(now, account.cap), (now + .seconds(1), 99_000_000)] {
          try transaction.execute(
            """
            INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
            VALUES ($1, $2, $3, 'premium', 'subscribed')
            """, .id(account.id), .instant(from), .integer(cap))
        }
      }
    }
    return all
  }

  private static func expected(
    _ all: [Known], _ order: AccountRanking.Order, _ filter: AccountRanking.Filter
  ) -> [Identifier] {
    let counted = all.filter { account in
      (filter.plan == nil || filter.plan == account.plan)
        && (!filter.isSuspended || account.isSuspended)
        && (account.usage > account.cap || !filter.isOverCap && order != .overCap)
    }
    let places = counted.map { account -> (key: Int64, id: Identifier) in
      switch order {
      case .created: (-account.created.milliseconds, account.id)
      case .usage: (account.usage, account.id)
      case .traffic: (account.traffic, account.id)
      case .overCap: (account.usage - account.cap, account.id)
      }
    }
    return places.sorted { $0.key == $1.key ? $0.id < $1.id : $0.key > $1.key }.map { $0.id }
  }

  @Test(arguments: TestEngine.available, AccountRanking.Order.allCases)
  func `pages of any size together are all that count, in order, each once`(
    engine: TestEngine, order: AccountRanking.Order
  ) throws {
    let seed = SeededGenerator.seed(of: "AccountRankingTests")
    var random = SeededGenerator(seed: seed)
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let all = try Self.fill(scratch, count: 60, &random)
    let database = try Database.open(scratch.location, owning: .sync)
    defer { database.close() }
    for _ in 0..<6 {
      let filter = AccountRanking.Filter(
        plan: [nil, "premium", "free"].randomElement(using: &random)!,
        isOverCap: Bool.random(using: &random), isSuspended: Bool.random(using: &random))
      let expected = Self.expected(all, order, filter)
      let limit = Int.random(in: 1...70, using: &random)
      var found: [Identifier] = []
      while true {
        let page = try database.read { [found] reader in
          var ranking = try AccountRanking(
            order, filter, behind: found.last, keeping: limit, Self.catalogue, at: Self.now,
            reading: reader)
          while try ranking.readPage(reader) {}
          #expect(ranking.count == expected.count, "seed \(seed)")
          return ranking.accounts
        }
        found += page
        if page.count < limit { break }
      }
      #expect(found == expected, "seed \(seed)")
    }
  }
}
