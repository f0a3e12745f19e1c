import Base
import CommandLine
import Ledger
import Subscriptions

/// Refused claims of others' purchases, each with the command that gives the purchase to the claimant.
enum RefusedClaimText {
  static var listing: Listing<RefusedClaim> {
    Listing([
      .time("refused", "LAST") { $0.refused },
      .text("subscription", "CLAIMED", .folded) { $0.subscription.description },
      .text(
        "account", "TO TRANSFER IT", .folded,
        cell: { "coffer subscription transfer \($0.subscription) \($0.account) --reason <why>" }
      ) { $0.account.description },
    ])
  }
}
