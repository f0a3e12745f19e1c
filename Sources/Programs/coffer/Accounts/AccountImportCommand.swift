import Acts
import CommandLine
import Configuration
import Moving
import Storage
import Sync

extension Command {
  private static let source = Parameter<String>.required(
    "archive", text: "archive written by coffer account export", .path)

  private static let unproven = Parameter<Bool>.flag(
    "--unproven", text: "import even if the keys do not prove the account id")

  static let accountImport = Command(
    words: ["account", "import"],
    abstract: "Import an account that another Coffer exported",
    discussion: """
      The command first verifies every digest and signature. It also checks that no other account here has \
      the same id, name, keys or purchases. If a check fails, one line names the problem and nothing \
      changes. Then it imports the store deliveries and decisions, and finally, in one transaction, the \
      account with all its records.

      Clients see a new history and download everything again. If the run is interrupted, run it again. An \
      account id is derived from the account's first key. An id that the keys do not prove is refused \
      without --unproven: an operator chose it or added a key. coffer account show reports such an \
      account.
      """,
    examples: ["coffer account import ada.coffer"],
    arguments: [source],
    options: [unproven] + Act.handyOptions,
    answers: Act.handyAnswers([
      "account": .text, "username": .orNull(.text), "records": .integer, "documents": .integer,
      "logs": .integer, "messages": .integer, "versions": .integer, "subscriptions": .integer,
      "foreign_records": .integer, "sha256": .text, "read": .list(.text), "unread": .list(.text),
    ]),
    run: { invocation in
      let path = invocation[source]
      let arriving = try ArrivingAccount(path)
      guard arriving.account.isProven || invocation[unproven] else {
        throw CommandFailure(
          .refused,
          "\(path): the keys in it do not prove that \(arriving.account.id) is their account; import it "
            + "with --unproven if you know its owner")
      }
      do {
        let reads = try DatabaseSession.with(invocation, owning: .billing) {
          database, configuration in
          try AccountArrival(arriving, database, configuration).takeInPurchases()
        }
        return try DatabaseSession.with(invocation) { database, configuration in
          try AccountArrival(arriving, database, configuration).takeInTree(
            try Act(invocation, on: database), reads)
        }
      } catch { throw ArrivingAccount.failure(error, path) }
    })
}
