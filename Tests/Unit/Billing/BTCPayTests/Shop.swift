import BTCPay
import Base
import Subscriptions

/// The purchases of one account in short form, and the coverage that they give.
struct Shop {
  private(set) var record = BTCPayRecord(id: Samples.account.description)
  private var delivery: Int64 = 0

  /// Days after the start.
  static func day(_ count: Int64) -> Instant { Samples.start + .days(count) }

  /// Adds an invoice as the read of that number shows it.
  mutating func read(_ id: String, _ invoice: BTCPayInvoice, day number: Int64 = 0) {
    delivery += 1
    record.insert(.invoice(invoice), id: id, asOf: .readNumber(number), delivery: delivery)
  }

  mutating func settled(_ id: String, day: Int64) { settled(id, at: Self.day(day)) }

  mutating func settled(_ id: String, at moment: Instant) {
    delivery += 1
    record.insert(
      .settlement(BTCPaySettlement(Samples.account, at: moment)), id: id,
      asOf: BTCPaySettlement.asOf,
      delivery: delivery)
  }

  /// Adds an invoice that settled on a day, as the read of that day shows it.
  mutating func paid(_ id: String, _ product: String, _ amount: String, day: Int64) {
    let made = Self.day(day) - .hours(1)
    read(id, Samples.invoice(product, amount: amount, created: made), day: day)
    settled(id, day: day)
  }

  var coverage: Coverage { record.coverage(policy: .standard, catalogue: Samples.catalogue) }

  /// `premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z`: plan, invoice, start and end of each interval.
  var owed: [String] {
    coverage.intervals.map { "\($0.planID) \($0.evidence.id) \($0.from) \($0.to)" }
  }

  func label(at moment: Instant) -> Label {
    let coverage = coverage
    return Label(
      coverage,
      withoutAccess: record.labelWithoutAccess(hadAccess: !coverage.intervals.isEmpty), at: moment)
  }

  var irregular: Set<Coverage.Alarm> { coverage.alarms }
}
