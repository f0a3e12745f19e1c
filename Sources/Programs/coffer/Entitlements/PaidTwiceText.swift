import Answers
import CommandLine
import Subscriptions

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

  static var listing: Listing<PaidTwice> {
    Listing([.object("kept", part) { $0.kept }, .list("refund", part) { $0.surplus }])
  }

  private static var part: Listing<PaidTwice.Part> {
    Listing([
      .text("subscription") { $0.key.description }, .text("store") { $0.store },
      .text("plan") { $0.planID }, .optionalText("payment") { $0.payment?.object.id },
      .money("amount") { $0.payment?.amount }, .bool("refunded_here") { $0.isRefundedHere },
    ])
  }
}
