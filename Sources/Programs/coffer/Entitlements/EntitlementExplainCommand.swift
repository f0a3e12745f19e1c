import Accounts
import Acts
import Answers
import Audit
import Base
import CommandLine
import Configuration
import KnownStores
import Ledger
import Storage

extension Command {
  private static let moment = Parameter<StatedTime?>.optional(
    "--at", "time",
    text:
      "explain this time: 2026-01-05T10:00:00Z, 2026-01-05, 2h (ago) or +30d (without new events)",
    .time)
  private static let wide = Parameter<Bool>.flag("--wide", text: "do not shorten ids, as in a pipe")

  static let entitlementExplain = Command(
    words: ["entitlement", "explain"],
    abstract: "Explain an account's quota over time",
    discussion: """
      The first three sentences can be sent to the customer as they are. Below them: the quota schedule \
      that coffer-sync enforces, and every subscription it is derived from. For each subscription you see \
      products, payments and refunds, pending reads, entitled periods with their evidence and deliveries, \
      and its history. Nothing is changed.
      """,
    examples: [
      "coffer entitlement explain ada",
      "coffer entitlement explain ada --at 2026-01-05",
    ],
    arguments: [CommonArguments.account],
    options: [moment, wide],
    answers: ExplanationListings.account.item,
    run: { invocation in
      try DatabaseSession.with(invocation) { database, configuration in
        let explained = try database.read { reader in
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
          return ExplainedAccount(explanation: explanation, account: account, actors: actors)
        }
        return Answer(
          text: explained.text(isWide: invocation[wide] || !Terminal.isOutput),
          json: ExplanationListings.account.json(explained))
      }
    })
}
