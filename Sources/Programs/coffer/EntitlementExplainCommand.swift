internal import Audit
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
  private static let moment = Parameter<StatedTime?>.optional(
    "--at", "time",
    text: "explain another time, as 2026-01-05T10:00:00Z, 2026-01-05, 2h or +30d: one that has "
      + "passed, by what held then and by what is known of it now, or one to come, if nothing more "
      + "comes", .time)
  private static let wide = Parameter<Bool>.flag(
    "--wide", text: "print ids whole, however wide the lines are")

  static let entitlementExplain = Command(
    words: ["entitlement", "explain"],
    abstract: "Explains what an account may store over time, and because of what.",
    discussion: """
      Begins with three sentences that can be sent to the customer as they are. Then it shows the \
      schedule of caps that coffer-sync obeys and, of each subscription that it is derived from, \
      the products, the money that came and went back, the reads that are open and what they wait \
      for, the intervals it is owed with the provider's object that says so and the deliveries that \
      brought it, and what happened, when that came true and when it was noticed. Nothing is changed.
      """,
    arguments: [CommonArguments.account],
    options: [moment, wide],
    answers: ExplanationJSON.shape,
    run: { invocation in
      try DatabaseSession.with(invocation) { database, configuration in
        let (account, explanation, actors) = try database.read { reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          let now = configuration.clock.now()
          let explanation = try EntitlementExplanation(
            of: account.id, at: now, about: invocation[moment]?.moment(at: now),
            catalogue: configuration.catalogue, stores: .known, reading: reader)
          var actors: [Int64: String] = [:]
          for decided in explanation.decisions {
            actors[decided.sequence] = try AuditLog.actor(
              of: decided.decision.account, at: decided.at, reading: reader)
          }
          return (account, explanation, actors)
        }
        return Answer(
          text: ExplanationText(
            explanation: explanation, account: account, actors: actors, isWide: invocation[wide]
          ).text,
          json: ExplanationJSON.value(explanation, of: account, actors))
      }
    })
}
