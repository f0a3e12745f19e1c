import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import KeyBackup
import Storage

extension Command {
  static let recoveryRefuse = Command(
    words: ["recovery", "refuse"],
    abstract: "Refuse what an account's recovery key asked for",
    discussion: """
      For a person who did not ask, and has no device that could refuse. Verify the person first. What waits \
      never opens, and what is open ends. A device that is in already stays, and so does the recovery key, \
      which can ask again.
      """,
    examples: ["coffer recovery refuse ada --reason \"ticket 4\" --yes"],
    arguments: [CommonArguments.account],
    options: Act.options,
    answers: Act.answers(["account": .text, "opens": .time]),
    run: { invocation in
      try Act.whenConfirmed(invocation) { transaction, now in
        let (account, _) = try DatabaseSession.lockedAccount(transaction, invocation)
        guard let live = try Recovery.live(transaction, of: account.id) else {
          throw CommandFailure(.refused, "no recovery of account \(account.id) waits or is open")
        }
        var owners = try LockedOwners(transaction, [account.id])
        try RecoveryWrite(transaction, of: account.id, now: now).end(.refused, &owners)
        return Act.Effect(
          subject: account.id.description, name: account.username, account: account.id,
          before: ["state": .string(live.state.rawValue)],
          after: ["state": .string(Recovery.State.refused.rawValue)],
          text: "refused  the recovery that opens on \(live.opens)\n",
          members: [
            .init("account", .string(account.id.description)), .init("opens", .moment(live.opens)),
          ])
      }
    })
}
