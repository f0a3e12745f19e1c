import Base
import Report
import Subscriptions
import Tiers

/// A purchase in a test, described in days of 2026.
struct Sold {
  static let catalogue: Catalogue = {
    do {
      return try Catalogue(
        version: "report", free: Plan(id: "free", title: "Free", byteCount: 10),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 1000,
            products: [
              Plan.Product(provider: "stripe", id: "premium"),
              Plan.Product(provider: "apple", id: "premium"),
            ]),
          Plan(id: "plus", title: "Plus", byteCount: 2000),
          Plan(id: "extra", title: "Extra", byteCount: 5000, isAddition: true),
        ])
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  var store = "stripe"
  private(set) var intervals: [Coverage.Interval] = []
  private(set) var endings: [Schedule.Ending] = []
  private(set) var payments: [Bill.Payment] = []
  private(set) var reversals: [Bill.Reversal] = []
  private(set) var changes: [Purchase.Change] = []

  init(store: String = "stripe") { self.store = store }

  /// Midnight at the start of a day of 2026; the first day is 1.
  static func day(_ number: Double) -> Instant {
    Instant(seconds: 1_767_225_600 + Int64((number - 1) * 86_400))
  }

  mutating func owe(_ plan: String, _ from: Double, _ to: Double, _ why: CapReason) {
    intervals.append(
      Coverage.Interval(
        planID: plan, from: Self.day(from), to: Self.day(to), why: why,
        evidence: .init(.subscription, "sub")))
  }

  mutating func pay(
    _ plan: String, _ from: Double, _ to: Double, _ amount: String? = "2.99",
    _ currency: String = "USD", owedTo: Double? = nil
  ) {
    let object = Coverage.Evidence(.grant, "in_\(payments.count)")
    intervals.append(
      Coverage.Interval(
        planID: plan, from: Self.day(from), to: Self.day(owedTo ?? to), why: .subscribed,
        evidence: object))
    payments.append(
      Bill.Payment(
        object, .paid, word: "paid", at: Self.day(from),
        amount: amount.map { Money(amount: $0, currency: currency) }, product: plan,
        from: Self.day(from), to: Self.day(to)))
  }

  mutating func pay(
    _ from: Double, _ to: Double, _ amount: String? = "2.99", _ currency: String = "USD",
    owedTo: Double? = nil
  ) {
    pay("premium", from, to, amount, currency, owedTo: owedTo)
  }

  mutating func end(_ day: Double, _ reason: CapReason) {
    endings.append(Schedule.Ending(at: Self.day(day), reason: reason))
  }

  mutating func reverse(
    _ payment: Int?, _ day: Double, _ amount: String?, kind: Bill.Reversal.Kind = .refund,
    state: Bill.Reversal.State = .done, currency: String = "USD"
  ) {
    reversals.append(
      Bill.Reversal(
        .init(.grant, "re_\(reversals.count)"), kind, state, word: state.rawValue,
        at: Self.day(day), amount: amount.map { Money(amount: $0, currency: currency) },
        of: payment.map { payments[$0].object }))
  }

  mutating func become(_ label: Label, _ day: Double, noticed: Double? = nil) {
    changes.append(
      Purchase.Change(
        at: Self.day(day), noticed: Self.day(noticed ?? day), before: changes.last?.after,
        after: label))
  }

  var purchase: Purchase {
    Purchase(
      store: store, coverage: Coverage(intervals: intervals, endings: endings, alarms: []),
      bill: Bill(items: [], payments: payments, reversals: reversals), changes: changes)
  }
}

/// The report for a month of 2026, by its number.
func report(_ month: Int, _ subscribers: [Sold]...) -> MonthlyReport {
  var report = MonthlyReport(Month("2026-01")!.adding(Int64(month - 1)))
  for sold in subscribers { report.add(Subscriber(sold.map(\.purchase), Sold.catalogue)) }
  return report
}

extension MonthlyReport {
  var movement: Movement { movements[movements.count - 1] }
  var trial: Trials { trials[trials.count - 1] }
  var failure: Failures { failures[failures.count - 1] }

  func net(_ currency: String) -> String { revenue(in: currency).net.money(in: currency).amount }
}

extension MonthlyReport.Movement {
  /// `opening new returned in out lost closing`
  var text: String { "\(opening) \(new) \(returned) \(changedIn) \(changedOut) \(lost) \(closing)" }
}
