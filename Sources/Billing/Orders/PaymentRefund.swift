import JSON
import Report
import Subscriptions
import Tiers

/// How much of a payment was refunded, and how much more can be, as far as its store reports it.
struct PaymentRefund: Sendable {
  let payment: String
  let paid: Money
  private let paidSum: MoneySum
  /// The number of known refunds that are of this payment, or may be, whatever their result.
  let count: Int
  /// Nil if the store does not report how much was refunded.
  private let goneBackSum: MoneySum?

  /// Nil if it is not known how much was paid.
  init?(of payment: Bill.Payment, _ bill: Bill) {
    guard let paid = payment.amount, let sum = MoneySum(paid) else { return nil }
    (self.payment, self.paid, paidSum) = (payment.object.id, paid, sum)
    var gone: MoneySum? = .zero
    for reversal in bill.reversals where reversal.isGone(from: payment.object) {
      let isAlike = reversal.amount?.currency == paid.currency
      let part = isAlike ? reversal.amount.flatMap { MoneySum($0) } : nil
      gone = part.flatMap { part in gone.map { $0 + part } }
    }
    goneBackSum = gone
    count = Self.count(of: payment, bill)
  }

  /// The same count, also for a payment whose amount is not known.
  static func count(of payment: Bill.Payment, _ bill: Bill) -> Int {
    bill.reversals.count { reversal in
      reversal.kind == .refund && reversal.payment.map { $0 == payment.object } ?? true
    }
  }

  private var leftSum: MoneySum? { goneBackSum.map { paidSum - $0 } }

  /// Why `part`, or all that is left if it is nil, cannot be refunded; nil if nothing is known against it.
  func refusal(of part: Money?) -> String? {
    guard !paidSum.isZero else { return "\(payment) cost nothing" }
    guard let left = leftSum, let gone = goneBackSum else { return nil }
    guard .zero < left else { return "all of \(payment), \(paid), went back already" }
    guard let part, let sum = MoneySum(part), left < sum else { return nil }
    let before = gone.isZero ? "" : ": \(money(gone)) of \(paid) went back already"
    return "no more than \(money(left)) of \(payment) is left\(before)"
  }

  /// The state before and after a refund of `part`, or of all that is left, at `store`.
  func change(by part: Money?, at store: String) -> (before: JSONValue, after: JSONValue) {
    let sum = part.flatMap { MoneySum($0) } ?? leftSum
    let total = sum.flatMap { sum in goneBackSum.map { $0 + sum } }
    return (
      members(goneBack: text(goneBackSum), count, goes: nil),
      members(
        goneBack: text(total), count + 1,
        goes: sum.map { .string(money($0).description) }
          ?? .string("all that is left (\(store) does not report the amount)"))
    )
  }

  private func members(goneBack: JSONValue, _ count: Int, goes: JSONValue?) -> JSONValue {
    .object(
      [
        .init("payment", .string(payment)), .init("paid", .string(paid.description)),
        .init("gone_back", goneBack), .init("refunds", .integer(Int64(count))),
      ] + (goes.map { [.init("goes_back", $0)] } ?? []))
  }

  private func text(_ sum: MoneySum?) -> JSONValue {
    .string(sum.map { money($0).description } ?? "unknown")
  }

  private func money(_ sum: MoneySum) -> Money { sum.money(in: paid.currency) }
}

extension Bill.Reversal {
  /// Whether it took, or is about to take, money of the payment. An open dispute is not decided yet.
  fileprivate func isGone(from payment: Coverage.Evidence) -> Bool {
    guard self.payment == payment else { return false }
    return switch (kind, state) {
    case (.refund, .done), (.refund, .open), (.dispute, .done): true
    case (.refund, .void), (.dispute, .open), (.dispute, .void), (.revocation, _),
      (.unshared, _):
      false
    }
  }
}
