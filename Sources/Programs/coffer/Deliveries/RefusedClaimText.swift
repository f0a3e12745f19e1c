internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Subscriptions

/// Refused claims of others' purchases, each with the command that gives the purchase to the claimant.
enum RefusedClaimText {
  static func table(_ claims: [RefusedClaim], at now: Instant) -> Table {
    var table = Table(
      ("LAST", .left), ("CLAIMED", .folded), ("TO TRANSFER IT", .folded))
    for claim in claims {
      table.add(
        Terminal.time(claim.refused, now: now), claim.subscription.description,
        "coffer subscription transfer \(claim.subscription) \(claim.account) --reason <why>")
    }
    return table
  }

  static let shape: JSONShape = ["subscription": .text, "account": .text, "refused": .time]

  static func json(_ claim: RefusedClaim) -> JSONValue {
    [
      "subscription": .string(claim.subscription.description),
      "account": .string(claim.account.description),
      "refused": .string(claim.refused.description),
    ]
  }
}
