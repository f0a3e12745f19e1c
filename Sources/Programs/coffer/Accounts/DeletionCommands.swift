import Accounts
import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Storage
import Sync

extension Command {
  private static let now = Parameter<Bool>.flag(
    "--now", text: "erase at once, without the grace period")
  private static let exportFirst = Parameter<Bool>.flag(
    "--export-first", text: "erase only after coffer account export wrote an archive")
  private static let moved = Parameter<Bool>.flag(
    "--moved", text: "do not ask its stores to stop billing: another Coffer has the account")
  private static let wait = Parameter<Bool>.flag(
    "--wait", text: "wait until coffer-sync and coffer-billing have erased it")
  private static let timeout = Parameter<Instant.Span?>.optional(
    "--timeout", "span",
    text: "with --wait: maximum wait, e.g. 90s, 15min or 2h (default: 10min)", .span)
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Identifier?>.optional(
    "--after", "account", text: "start after this row (see the previous page's last line)",
    .uuid(of: "an account with a requested deletion"))

  static let accountDelete = Command(
    words: ["account", "delete"],
    abstract: "Delete an account after its grace period",
    discussion: """
      From now on the account cannot write. It can be read and exported until COFFER_DELETION_DELAY_DAYS \
      have passed. Then coffer-sync erases keys, names, records, contents and shares, and coffer-billing \
      erases its store deliveries. Stripe and Google Play are asked at once to stop billing, unless \
      --moved says that another Coffer has the account. If the deletion was already requested, --now \
      starts it earlier. docs/leaving.md lists what is kept and why. An owner uses DELETE /v1/account.

      --wait returns when both programs have erased the account. It reports the state of each part, and \
      each change on stderr. After --timeout the exit code is 75. If the wait ends early, the deletion \
      continues.
      """,
    examples: [
      "coffer account delete ada --reason \"owner asked\" --yes",
      "coffer account delete ada --now --wait --reason \"owner asked\" --yes",
    ],
    arguments: [CommonArguments.account],
    options: [now, exportFirst, moved, wait, timeout] + Act.options,
    answers: Act.answers(["account": .text, "erases": .orNull(.time)]).adding(DeletionWait.shape),
    run: { invocation in
      let patience = try patience(invocation)
      let delay = try DeletionRequest.delay(invocation.settings)
      let begin: DeletionRequest.Begin =
        switch (invocation[now], invocation[exportFirst]) {
        case (true, true):
          throw CommandFailure(.usage, "--now and --export-first exclude each other")
        case (true, false): .now
        case (false, true): .afterExport
        case (false, false): .after(delay)
        }
      guard !invocation[moved] || !invocation[exportFirst] else {
        throw CommandFailure(.usage, "--moved is for an account that was exported")
      }
      let (answer, account) = try DatabaseSession.withAnyCatalogue(invocation) {
        database, configuration in
        let account = try database.read { reader in
          try DatabaseSession.account(reader, invocation[CommonArguments.account]).id
        }
        let request = DeletionRequest(
          of: account, begin, hasMoved: invocation[moved], patience: patience,
          exportAct: accountExport.name, Ledger(stores: .known, configuration))
        let answer = try Act(invocation, on: database).whenConfirmed {
          try request.effect(at: $1, in: $0)
        }
        return (answer, account)
      }
      guard let patience, answer.code == .ok else { return answer }
      return try DeletionWait(of: account, atMost: patience).answer(behind: answer, invocation)
    })

  /// How long --wait waits; nil without it.
  private static func patience(_ invocation: Invocation) throws -> Instant.Span? {
    guard invocation[wait] else {
      if invocation[timeout] != nil { throw CommandFailure(.usage, "--timeout is for --wait") }
      return nil
    }
    guard !invocation[exportFirst] else {
      throw CommandFailure(
        .usage, "--wait and --export-first exclude each other: nothing is erased before the export")
    }
    return invocation[timeout] ?? .minutes(10)
  }

  static let deletionCancel = Command(
    words: ["deletion", "cancel"],
    abstract: "Cancel an account deletion that has not started erasing",
    discussion: """
      The account can write again, unless it was suspended before. Stores that stopped billing are not \
      asked to start again: the owner resumes the subscription (POST /v1/stripe/uncancel, or in the \
      store).
      """,
    examples: ["coffer deletion cancel ada --reason \"owner changed their mind\" --yes"],
    arguments: [CommonArguments.account],
    options: Act.options,
    answers: Act.answers(["account": .text]),
    run: { invocation in
      try Act.whenConfirmed(invocation) { transaction, _ in
        let (account, deletion) = try DatabaseSession.lockedAccount(transaction, invocation)
        guard let deletion else {
          throw CommandFailure(.refused, "no deletion was requested for \(account.id)")
        }
        guard try AccountDeletion.cancel(account.id, in: transaction) else {
          throw CommandFailure(.refused, "account \(account.id) is being erased")
        }
        let writes: JSONValue = deletion.suspended == nil ? "allowed" : "refused"
        return Act.Effect(
          subject: account.id.description, name: account.username, account: account.id,
          before: ["state": .string(deletion.state.rawValue), "writes": "refused"],
          after: ["state": "kept", "writes": writes],
          text: "\(account.id) is kept; "
            + (deletion.hasMoved
              ? "its stores were not asked to stop billing\n"
              : "its stores were asked to stop billing; that stays\n"),
          members: [.init("account", .string(account.id.description))])
      }
    })

  static let deletionList = Command(
    words: ["deletion", "list"],
    abstract: "List account deletions and their progress, newest first",
    discussion: """
      STATE is exporting (waits for coffer account export), waiting (can be cancelled), erasing, or \
      erased: coffer-sync and coffer-billing have both erased what they hold. SYNC and BILLING are \
      waiting, erasing or erased (unused: coffer-billing never ran here). STORES is waiting, stopping \
      (asked to stop billing), stopped, billing (only the customer can cancel) or moved. An erased account \
      keeps its id and these times.
      """,
    examples: ["coffer deletion list --limit 20"],
    options: [limit, after],
    answers: deletions.shape,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let last = try invocation[after].map { account in
          guard let last = try AccountDeletion.find(account, reading: reader) else {
            throw CommandFailure(.refused, "no deletion was requested for \(account)")
          }
          return last
        }
        let page = try deletions.page(invocation, by: \.account.description) {
          try AccountDeletion.all(after: last, limit: $0, reading: reader)
        }
        return deletions.answer(
          try page.map { try ListedDeletion($0, reader) }, at: now,
          notice: try page.notice { try AccountDeletion.count(reading: reader) })
      }
    })

  private static var deletions: Listing<ListedDeletion> {
    Listing(
      "deletions",
      [
        .text("account", "ACCOUNT") { $0.progress.deletion.account.description },
        .optionalText("username", "USERNAME") { $0.username },
        .text("state", "STATE") { $0.progress.state.rawValue },
        .shown("SYNC") { row, _ in row.progress.parts.sync.rawValue },
        .shown("BILLING") { row, _ in row.progress.parts.billing.rawValue },
        .shown("STORES") { row, _ in row.progress.parts.stores.rawValue },
        Column("parts", DeletionParts.shape, json: { $0.progress.parts.json }),
        .time("asked", "ASKED") { $0.progress.deletion.asked },
        .optionalTime("erases", "ERASES") { $0.progress.deletion.erases },
        .optionalTime("erased", "ERASED") { $0.progress.erased },
        .bool("moved") { $0.progress.deletion.hasMoved },
      ])
  }
}
