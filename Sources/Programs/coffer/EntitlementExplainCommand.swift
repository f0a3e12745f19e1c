internal import Base
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Subscriptions
internal import Sync
internal import Tiers

extension Command {
  static let entitlementExplain = Command(
    words: ["entitlement", "explain"],
    abstract: "Explains what an account may store over time, and because of what.",
    discussion: "Shows the schedule of caps that coffer-sync obeys, the subscriptions it is "
      + "derived from, the intervals each is owed with the provider's object that says so, and "
      + "the deliveries that brought it, and the newest decisions about the account with their "
      + "notes. Nothing is changed.",
    arguments: [CommonArguments.account],
    answers: ExplanationJSON.shape,
    run: { invocation in
      try DatabaseSession.with(invocation) { database, configuration in
        let (account, explanation) = try database.read { reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          let explanation = try EntitlementExplanation(
            of: account.id, at: configuration.clock.now(), catalogue: configuration.catalogue,
            stores: .known,
            reading: reader)
          return (account, explanation)
        }
        return Answer(
          text: ExplanationText.text(explanation, of: account),
          json: ExplanationJSON.value(explanation, of: account))
      }
    })
}
