import Accounts
import Base
import Storage
import TestEngines
import Testing
import Tiers

struct StorageFiguresTests {
  private static let now = Instant(seconds: 1_800_000_000)

  /// 2,500 accounts, more than are read at once. Every fifth has paid for 30 GB, but for every tenth this has
  /// ended. Every third holds more than the free plan allows.
  @Test(arguments: TestEngine.available)
  func `every account counts once, under the plan that holds now`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    // Each program writes its own schema.
    let billing = try Database.open(scratch.location, owning: .billing)
    try billing.write(for: nil) { transaction in
      for index in stride(from: 0, to: 2500, by: 5) {
        let end = index.isMultiple(of: 10) ? Self.now : Self.now + .days(1)
        for (from, cap, plan) in [
          (Instant.distantPast, 1_000_000, "free"),
          (Self.now - .days(9), 30_000_000_000, "premium"), (end, 1_000_000, "free"),
        ] as [(Instant, Int64, String)] {
          try transaction.execute(
            """
            INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
            VALUES ($1, $2, $3, $4, 'subscribed')
            """, .id(Self.account(index)), .instant(from), .integer(cap), .text(plan))
        }
      }
    }
    billing.close()
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      for index in 0..<2500 {
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 1, $2, $3)
          """, .id(Self.account(index)), .integer(index.isMultiple(of: 3) ? 1_500_000 : 1000),
          .instant(Self.now - .days(Int64(index))))
      }
    }
    var figures = StorageFigures(
      at: Self.now, opened: (Self.now - .days(30))..<Self.now, .standard)
    try sync.read { reader in while try figures.readPage(reader) {} }
    #expect(figures.total.accountCount == 2500)
    #expect(figures.openedCount == 30)
    #expect(figures.plans["premium"]?.accountCount == 250)
    #expect(figures.plans["premium"]?.overCapAccountCount == 0)
    #expect(figures.plans["free"]?.accountCount == 2250)
    // Of 834 accounts that hold so much, 83 have paid for it.
    #expect(figures.total.overCapAccountCount == 751)
    #expect(figures.total.overCapByteCount == 751 * 500_000)
    #expect(figures.total.usageByteCount == 834 * 1_500_000 + 1666 * 1000)
  }

  private static func account(_ index: Int) -> Identifier {
    Identifier(high: UInt64(index) << 32, low: 7)
  }
}
