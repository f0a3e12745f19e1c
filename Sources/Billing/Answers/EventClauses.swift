import Base
import Ledger
import Subscriptions
import Tiers

/// What each kind of event is called in a sentence about what happened last.
extension EntitlementExplanation {
  func clause(_ decision: Decision) -> String {
    switch decision {
    case .grant(_, let plan, _, _, _): "we gave your account the plan \(title(plan))"
    case .ungrant: "we took back a plan that we had given"
    case .quota(_, let byteCount, _, _):
      "we set your account's size to \(ByteCount.text(byteCount))"
    case .quotaCleared: "we gave your account back the size that it is owed"
    case .claim(account, _): "a purchase was claimed for your account"
    case .claim: "a purchase of your account was claimed for another"
    case .transfer(account, _, _): "a purchase was moved to your account"
    case .transfer: "a purchase was moved away from your account"
    case .accountDeleted: "your account was deleted"
    }
  }
}

extension RenewalChange {
  var clause: String {
    switch self {
    case .ended: "the renewal of the subscription was switched off"
    case .begun: "the renewal of the subscription was switched on again"
    }
  }
}

extension Bill.Payment {
  /// Whether its period is known and contains `moment`.
  func covers(_ moment: Instant) -> Bool {
    guard let from, let to else { return false }
    return from <= moment && moment < to
  }

  func clause(_ store: String) -> String {
    let sum = amount.map { "a payment of \($0)" } ?? "a payment"
    let isFree = amount.map { $0.amount.allSatisfy { "0.".contains($0) } } ?? false
    return switch state {
    case .paid where isFree: "a period began that costs nothing"
    case .paid: "\(sum) arrived at \(store)"
    case .open: "\(store) asked for \(sum)"
    case .failing: "\(store) tried to collect \(sum) and could not"
    case .void:
      "\(sum) was called off" + (irregular.map { ", of which \($0.came) had come" } ?? "")
    }
  }
}

extension Bill.Reversal {
  var clause: String {
    let sum = amount.map { "\($0)" } ?? "a payment"
    return switch (kind, state) {
    case (.refund, .done): "\(sum) was given back"
    case (.refund, .open): "a refund of \(sum) was begun"
    case (.refund, .void): "a refund of \(sum) was begun that came to nothing"
    case (.dispute, .done): "the bank took \(sum) back"
    case (.dispute, .open): "the bank disputed a payment of \(sum)"
    case (.dispute, .void): "the bank disputed a payment of \(sum), which came to nothing"
    case (.revocation, .void): "the store took the purchase back and gave it again"
    case (.revocation, .open), (.revocation, .done): "the store took the purchase back"
    case (.unshared, _): "the purchase was no longer shared with your account"
    }
  }
}
