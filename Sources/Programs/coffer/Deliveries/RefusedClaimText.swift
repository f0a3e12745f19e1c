internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Subscriptions

/// Refused claims of others' purchases, each with the command that gives the purchase to the claimant.
enum RefusedClaimText {
  static var listing: Listing<RefusedClaim> {
    Listing([
      .time("refused", "LAST") { $0.refused },
      .text("subscription", "CLAIMED") { $0.subscription.description }.aligned(.folded),
      .text("account") { $0.account.description },
      .shown("TO TRANSFER IT", .folded) { claim, _ in
        "coffer subscription transfer \(claim.subscription) \(claim.account) --reason <why>"
      },
    ])
  }

  static var shape: JSONShape { listing.item }
  static func json(_ claim: RefusedClaim) -> JSONValue { listing.json(claim) }
  static func table(_ claims: [RefusedClaim], at now: Instant) -> Table {
    listing.table(claims, at: now)
  }
}
