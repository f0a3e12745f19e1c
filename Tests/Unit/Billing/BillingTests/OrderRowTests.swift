import Base
import JSON
import Jobs
import KnownStores
import Ledger
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing
import Tiers

@testable import Orders

/// Orders, as both engines store them.
struct OrderRowTests {
  private static let key = ObjectKey("stripe:live:subscription:sub_1")!
  private static let now = Instant(seconds: 1_772_445_300)

  private static func place(
    _ number: Int64, _ kind: StoreOrder.Kind, payment: String? = nil, amount: Money? = nil,
    days: Int64? = nil, cause: ExtensionCause? = nil, knownEnd: Instant? = nil,
    in transaction: Transaction
  ) throws {
    let plan = OrderPlan(
      subscription: key, account: nil, before: [:], after: [:], kind: kind, payment: payment,
      amount: amount, knownRefundCount: 2, days: days, cause: cause, knownEnd: knownEnd)
    try OrderRows.insert(plan, number: number, at: now, in: transaction)
  }

  @Test(arguments: TestEngine.available)
  func `each order asks for the same, whenever it is read`(_ engine: TestEngine) throws {
    let shop = try Shop(engine)
    let database = shop.database
    let half = Money(amount: "0.50", currency: "USD")
    let end = Self.now + .days(3)
    try database.write(for: nil) { transaction in
      try Self.place(1, .refund, payment: "in_1", amount: half, in: transaction)
      try Self.place(2, .extend, days: 7, cause: .outage, knownEnd: end, in: transaction)
      try Self.place(3, .stopRenewal, in: transaction)
      try Self.place(4, .end, in: transaction)
    }
    let requests = try database.read { reader in
      try (1...4).map { try #require(try OrderRows.find($0, reading: reader)).request }
    }
    let name = "1-\(Self.now.milliseconds)"
    #expect(
      requests == [
        .refund(payment: "in_1", amount: half, name: name),
        .extend(days: 7, because: .outage, knownEnd: end), .stopRenewal, .end,
      ])
  }

  @Test(arguments: TestEngine.available)
  func `a second one of a kind waits until the first is closed`(_ engine: TestEngine) throws {
    let shop = try Shop(engine)
    let database = shop.database
    func place(_ number: Int64) throws {
      try database.write(for: nil) { transaction in
        try Self.place(number, .refund, payment: "in_1", in: transaction)
      }
    }
    func order(_ number: Int64) throws -> Order {
      try #require(try database.read { try OrderRows.find(number, reading: $0) })
    }
    try place(1)
    #expect(throws: DatabaseError.self) { try place(2) }
    let first = try order(1)
    try database.write(for: nil) { transaction in
      try OrderRows.begin(first, at: Self.now, in: transaction)
      try OrderRows.note("status 503", first, in: transaction)
      try OrderRows.doubt(first, because: "status 503", read: 5, in: transaction)
    }
    #expect(throws: DatabaseError.self) { try place(2) }
    let doubted = try order(1)
    #expect(doubted.state == .doubted && doubted.tried == Self.now && doubted.readNumber == 5)
    try database.write(for: nil) { transaction in
      try OrderRows.close(doubted, .done, "done", entry: 9, at: Self.now, in: transaction)
    }
    try place(2)
    let (done, newest) = try database.read { reader in
      (
        try OrderRows.done(.refund, about: Self.key, payment: "in_1", reading: reader),
        try OrderRows.newest(about: Self.key, limit: 9, reading: reader)
      )
    }
    #expect(done?.number == 1 && done?.closing.map { "\($0)" } == "billing:9")
    #expect(newest.map(\.number) == [2, 1])
  }

  private static func runner(
    of database: Database, at now: Instant, readable: Set<ObjectKey.Provider> = [key.provider]
  ) -> OrderRunner {
    OrderRunner(
      StoreAccess(
        database: database,
        ledger: Ledger(
          stores: .known, rules: LedgerRules(catalogue: AppleSample.catalogue), readable: readable),
        sealing: Harness.sealing, clock: Clock { now }))
  }

  /// The store answered the read with 404 until it was dead, so no one knows whether it refunded. An operator who knows
  /// drops the read.
  @Test(arguments: TestEngine.available, [false, true])
  func `a doubted order has not failed before a read shows it, or an operator drops the read`(
    _ engine: TestEngine, isDropped: Bool
  ) throws {
    let shop = try Shop(engine)
    let database = shop.database
    func order(_ number: Int64) throws -> Order {
      try #require(try database.read { try OrderRows.find(number, reading: $0) })
    }
    func leased(_ kind: String, at now: Instant) throws -> Lease {
      let leases = try database.write(for: nil) { transaction in
        try Jobs.lease(kind, limit: 1, now: now, in: transaction)
      }
      return try #require(leases.first)
    }
    try database.write(for: nil) { transaction in
      try Self.place(1, .refund, payment: "in_1", in: transaction)
      try Jobs.request(
        Ledger.readJob, Self.key.description, due: Self.now, in: transaction)
      try Jobs.request(Order.job, "1", due: Self.now, in: transaction)
    }
    let placed = try order(1)
    try database.write(for: nil) { transaction in
      let read = try Jobs.find(Ledger.readJob, Self.key.description, reading: transaction)
      try OrderRows.doubt(
        placed, because: "status 503", read: read?.requested, in: transaction)
    }
    for hour in 0..<JobRules.refusalCountMax {
      let now = Self.now + .hours(hour)
      let lease = try leased(Ledger.readJob, at: now)
      try database.write(for: nil) { transaction in
        _ = try lease.retry(.refused("status 404"), now: now, in: transaction)
      }
    }
    if isDropped {
      let dropped = try database.write(for: nil) { transaction in
        try Jobs.drop(Ledger.readJob, Self.key.description, in: transaction)
      }
      #expect(dropped)
    }
    let now = Self.now + .hours(JobRules.refusalCountMax)
    let runner = Self.runner(of: database, at: now)
    let lease = try leased(Order.job, at: now)
    if !isDropped {
      #expect(throws: JobFailure.transient("\(Self.key) is not read yet", retryAfter: nil)) {
        _ = try runner.handler.run(lease)
      }
      #expect(try order(1).state == .doubted)
      let isRevived = try database.write(for: nil) { transaction in
        try Jobs.revive(Ledger.readJob, Self.key.description, now: now, in: transaction)
      }
      #expect(isRevived)
      let read = try leased(Ledger.readJob, at: now)
      try database.write(for: nil) { transaction in
        _ = try read.commit(readBegan: nil, now: now, in: transaction)
      }
    }
    let result = try runner.handler.run(lease)
    try database.write(for: nil) { transaction in
      _ = try result.commit(lease, now: now, in: transaction)
    }
    let closed = try order(1)
    #expect(closed.state == .failed)
    let why =
      isDropped
      ? "an operator dropped the read that would show what was done"
      : "a read shows that it was not done"
    #expect(closed.answer == "status 503; \(why)")
  }

  @Test(arguments: TestEngine.available)
  func `a doubted order is not decided without a key to read its subscription`(
    _ engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    let database = shop.database
    let leases = try database.write(for: nil) { transaction in
      try Self.place(1, .refund, payment: "in_1", in: transaction)
      if let order = try OrderRows.find(1, reading: transaction) {
        try OrderRows.doubt(order, because: "status 503", read: nil, in: transaction)
      }
      try Jobs.request(Order.job, "1", due: Self.now, in: transaction)
      return try Jobs.lease(Order.job, limit: 1, now: Self.now, in: transaction)
    }
    let lease = try #require(leases.first)
    let runner = Self.runner(of: database, at: Self.now, readable: [])
    let result = try runner.handler.run(lease)
    #expect(throws: JobFailure.transient(Order.withoutKey, retryAfter: nil)) {
      try database.write(for: nil) { transaction in
        _ = try result.commit(lease, now: Self.now, in: transaction)
      }
    }
  }
}
