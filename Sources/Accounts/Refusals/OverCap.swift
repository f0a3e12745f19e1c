package import Base
package import HTTPMessages
import JSON
package import Tiers

/// A write that would leave an account above its cap and higher than before.
package struct OverCap: Equatable, Sendable {
  package let owner: Identifier
  /// Whether the caller is that owner and may see its numbers.
  let isCallers: Bool
  package let usageByteCount: Int64
  package let capByteCount: Int64
  /// The owner's usage after this write.
  let neededByteCount: Int64
  package let reason: CapReason
  package let planID: String
  /// Plans for sale that have room for the write.
  let fitting: [Plan]

  /// 507 always means quota. The reason for the cap tells a declined card from a full account.
  package var problem: Problem {
    guard isCallers else {
      return Problem(
        507, "over_cap", "Over the storage cap",
        "The owner of this tree has no room for this write.",
        members: [.init("owner", .string(owner.description))])
    }
    let plans = fitting.map { plan in
      JSONValue.object([
        .init("id", .string(plan.id)), .init("title", .string(plan.title)),
        .init("bytes", .integer(plan.byteCount)),
      ])
    }
    return Problem(
      507, "over_cap", "Over the storage cap",
      "This write needs \(neededByteCount) bytes and the cap is \(capByteCount)." + cause,
      members: [
        .init("owner", .string(owner.description)), .init("usage", .integer(usageByteCount)),
        .init("cap", .integer(capByteCount)), .init("needed", .integer(neededByteCount)),
        .init("reason", .string(reason.rawValue)), .init("plan", .string(planID)),
        .init("plans", .array(plans)),
      ])
  }

  private var cause: String {
    switch reason {
    case .paymentFailed:
      " The cap is low because the last payment failed: update the payment method."
    case .lapsed: " The cap is low because the subscription has ended."
    case .quotaSet: " The cap was set by the operator of this server."
    case .grantRevoked: " The cap is low because a granted plan was revoked."
    case .refunded: " The cap is low because the subscription was refunded."
    case .disputed: " The cap is low because the payment is disputed."
    default: ""
    }
  }
}
