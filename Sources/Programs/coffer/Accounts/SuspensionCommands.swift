import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Sync

extension Command {
  static let accountSuspend = Command(
    words: ["account", "suspend"],
    abstract: "Block all writes to an account",
    discussion: """
      Neither its own devices nor others in its tree can write; they get account_suspended. Reading, \
      export, deletion and ending a share still work, and billing continues. It takes effect with the next \
      request. Undo it with coffer account resume.
      """,
    examples: ["coffer account suspend ada --reason \"abuse report 12\" --yes"],
    arguments: [CommonArguments.account],
    options: Act.options,
    answers: Act.answers(["account": .text, "suspended": .bool]),
    run: { try suspend($0, suspends: true) })

  static let accountResume = Command(
    words: ["account", "resume"],
    abstract: "Allow a suspended account to write again",
    examples: ["coffer account resume ada --reason \"resolved\" --yes"],
    arguments: [CommonArguments.account],
    options: Act.options,
    answers: Act.answers(["account": .text, "suspended": .bool]),
    run: { try suspend($0, suspends: false) })

  private static func suspend(_ invocation: Invocation, suspends: Bool) throws -> Answer {
    try Act.whenConfirmed(invocation) { transaction, now in
      let moment = suspends ? now : nil
      // An account whose deletion was requested cannot write anyway. This decides what applies if
      // the deletion is cancelled.
      let (account, deletion) = try DatabaseSession.lockedAccount(transaction, invocation)
      let isChanged =
        deletion == nil
        ? try Account.suspend(transaction, account.id, since: moment)
        : try AccountDeletion.suspend(account.id, since: moment, in: transaction)
      guard isChanged else {
        let why = suspends ? "suspended already" : "not suspended"
        let rest =
          deletion == nil || suspends
          ? "" : ": its deletion was requested; coffer deletion cancel keeps it"
        throw CommandFailure(.refused, "account \(account.id) is \(why)\(rest)")
      }
      let word = suspends ? "suspended" : "resumed"
      return Act.Effect(
        subject: account.id.description, name: account.username, account: account.id,
        before: state(account.suspended(beside: deletion), deletion),
        after: state(moment, deletion), text: "\(word)  \(account.id)\n",
        members: [
          .init("account", .string(account.id.description)), .init("suspended", .bool(suspends)),
        ])
    }
  }

  private static func state(_ suspended: Instant?, _ deletion: AccountDeletion?) -> JSONValue {
    [
      "writes": suspended == nil && deletion == nil ? "allowed" : "refused",
      "suspended": suspended.map { .string($0.description) } ?? .null,
    ]
  }
}
