internal import Answers
internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Subscriptions
internal import Tiers

/// Double payments of an account, for people and for programs.
enum PaidTwiceText {
  /// What is paid at which store, what counts, and what to refund.
  static func sentence(_ paid: PaidTwice) -> String {
    let surplus = paid.surplus.map { "\(part($0)) adds nothing: \(refund($0))" }
    return "\(part(paid.kept)) counts; " + surplus.joined(separator: "; ")
  }

  private static func part(_ part: PaidTwice.Part) -> String {
    "\(part.price) for \(part.planID) (\(part.key))"
  }

  private static func refund(_ part: PaidTwice.Part) -> String {
    part.isRefundedHere ? "refund this one" : "its customer asks \(part.store) for a refund"
  }

  /// The command that refunds the first payment that can be refunded here; nil if only the customer can ask.
  static func command(_ paid: PaidTwice) -> [String]? {
    guard let part = paid.surplus.first(where: \.isRefundedHere) else { return nil }
    let payment = part.payment.map { ["--payment", $0.object.id] } ?? []
    return ["subscription", "refund", part.key.description] + payment + ["--reason", "<why>"]
  }

  private static let partShape: JSONShape = [
    "subscription": .text, "store": .text, "plan": .text, "payment": .orNull(.text),
    "amount": .orNull(["amount": .text, "currency": .text]), "refunded_here": .bool,
  ]
  static let shape: JSONShape = ["kept": partShape, "refund": .list(partShape)]

  static func json(_ paid: PaidTwice) -> JSONValue {
    ["kept": json(paid.kept), "refund": .array(paid.surplus.map(json))]
  }

  private static func json(_ part: PaidTwice.Part) -> JSONValue {
    [
      "subscription": .string(part.key.description), "store": .string(part.store),
      "plan": .string(part.planID),
      "payment": part.payment.map { .string($0.object.id) } ?? .null,
      "amount": part.payment?.amount.map {
        ["amount": .string($0.amount), "currency": .string($0.currency)]
      } ?? .null,
      "refunded_here": .bool(part.isRefundedHere),
    ]
  }
}
