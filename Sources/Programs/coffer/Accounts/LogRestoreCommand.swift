import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Logs

extension Command {
  private static let log = Parameter<Identifier>.log

  static let logRestore = Command(
    words: ["log", "restore"],
    abstract: "Take back the epoch that a log had before",
    discussion: """
      The log has its messages and its snapshot of then. The epoch that it has now is kept instead, with \
      what devices appended since, and the same command takes that one back. Devices read the log from its \
      beginning. The account is charged for what comes back, and it must fit.
      """,
    examples: [
      "coffer log restore ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d --reason \"ticket 4\" --yes"
    ],
    arguments: [CommonArguments.account, log],
    options: Act.options,
    answers: Act.answers([
      "account": .text, "log": .text, "epoch": .text, "messages": .integer, "kept": .orNull(.text),
    ]),
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let id = invocation[log]
        return try Act(invocation, on: database).whenConfirmed { transaction, now in
          let (account, _) = try DatabaseSession.lockedAccount(transaction, invocation)
          let found = try MessageLog.find(transaction, id, for: account.id)
          guard let kept = try LogRestore.find(transaction, of: id, now: now) else {
            throw CommandFailure(.refused, "the log keeps no epoch that it had before")
          }
          try LogRestore.perform(
            transaction, found, kept, catalogue: configuration.catalogue, now: now)
          let left = try LogRestore.find(transaction, of: id, now: now)
          return Act.Effect(
            subject: id.description, account: account.id,
            before: ["epoch": .string(found.epoch.description)],
            after: ["epoch": .string(kept.epoch.description)],
            text: "epoch     \(kept.epoch)\nmessages  \(kept.messageCount)\n"
              + "kept      \(left?.text ?? "-")\n",
            members: [
              .init("account", .string(account.id.description)),
              .init("log", .string(id.description)),
              .init("epoch", .string(kept.epoch.description)),
              .init("messages", .integer(kept.messageCount)),
              .init("kept", left.map { .string($0.epoch.description) } ?? .null),
            ])
        }
      }
    })
}
