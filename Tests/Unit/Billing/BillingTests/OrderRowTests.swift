import Base
import JSON
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
}
