internal import Base
internal import Configuration
internal import JSON
internal import Storage
internal import Sync

extension Command {
  private static let now = Parameter<Bool>.flag(
    "--now", text: "erase it at once, without the days in which it can be kept after all")
  private static let exportFirst = Parameter<Bool>.flag(
    "--export-first", text: "erase it only after coffer account export wrote it into an archive")
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Identifier?>.optional(
    "--after", "account", text: "go on behind this one, as the page before says",
    .uuid(of: "an account whose end was asked for"))
  private static let leaving = Parameter<Identifier>.required(
    "account", text: "its id", .uuid(of: "an account whose end was asked for"))

  static let accountDelete = Command(
    words: ["account", "delete"],
    abstract: "Has an account erased, after days in which it can be kept after all.",
    discussion: """
      Nothing of it is written from now on; it can be read, and exported (coffer account export), until \
      COFFER_DELETION_DELAY_DAYS are over. Then coffer-sync erases keys, names, records, contents and shares, and \
      coffer-billing what its stores delivered; Stripe and Google Play are told at once to bill no more. \
      What is kept, and why, is in docs/leaving.md. Its owner asks for it by DELETE /v1/account.
      """,
    arguments: [CommonArguments.account],
    options: [now, exportFirst] + Act.options,
    answers: Act.answers(["account": .text, "erases": .orNull(.time)]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        let moment = configuration.clock.now()
        let days = try deletionDelayDays(invocation)
        let isExported = invocation[exportFirst]
        if isExported, invocation[now] {
          throw CommandFailure(.usage, "--now and --export-first say two things: choose one")
        }
        return try Act(invocation, on: database).whenConfirmed(at: moment) { transaction in
          let account = try DatabaseSession.account(
            transaction, invocation[CommonArguments.account])
          let consequences = try DeletionConsequences(of: account.id, reading: transaction)
          let erases =
            isExported ? nil : invocation[now] ? moment : moment + .days(days)
          let known = try AccountDeletion.find(account.id, reading: transaction)
          if known == nil {
            _ = try AccountDeletion.ask(
              for: account.id, erasing: erases, at: moment, in: transaction)
          }
          let end = known == nil ? erases : known?.erases
          let state = known?.state ?? (isExported ? .exporting : .waiting)
          return Act.Effect(
            subject: account.id.description, name: account.username, account: account.id,
            before: .object([.init("state", "kept")] + consequences.figures),
            after: ["state": .string(state.rawValue), "erases": time(end)],
            text: "\(account.id) is erased "
              + (end.map { "from \($0) on" }
                ?? "some days after coffer account export \(account.id) --to <path>")
              + "; coffer deletion cancel keeps it\n",
            members: [
              .init("account", .string(account.id.description)),
              .init("erases", time(end)),
            ])
        }
      }
    })

  static let deletionCancel = Command(
    words: ["deletion", "cancel"],
    abstract: "Keeps an account whose end was asked for, as long as nothing of it is erased.",
    discussion: """
      It writes again, unless it was suspended before. What its stores were told stays: its owner has \
      them bill again (POST /v1/stripe/uncancel, or in the store).
      """,
    arguments: [leaving],
    options: Act.options,
    answers: Act.answers(["account": .text]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        let account = invocation[leaving]
        return try Act(invocation, on: database).whenConfirmed(at: configuration.clock.now()) {
          transaction in
          guard let deletion = try AccountDeletion.find(account, reading: transaction) else {
            throw CommandFailure(.refused, "nobody asked for the end of \(account)")
          }
          guard try AccountDeletion.cancel(account, in: transaction) else {
            throw CommandFailure(.refused, "\(account) is being erased")
          }
          return Act.Effect(
            subject: account.description, account: account,
            before: ["state": .string(deletion.state.rawValue)], after: ["state": "kept"],
            text: "\(account) is kept\n",
            members: [.init("account", .string(account.description))])
        }
      }
    })

  static let deletionList = Command(
    words: ["deletion", "list"],
    abstract: "Lists accounts whose end was asked for, the newest first.",
    discussion: """
      STATE is exporting (it waits for coffer account export), waiting (it can be kept), erasing or erased. Of what is erased its id and these times are \
      all that is listed.
      """,
    options: [limit, after],
    answers: [
      "deletions": .list([
        "account": .text, "state": .text, "asked": .time, "erases": .orNull(.time),
        "erased": .orNull(.time),
      ])
    ],
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        let now = configuration.clock.now()
        let found = try database.read { reader in
          let last = try invocation[after].map { account in
            guard let last = try AccountDeletion.find(account, reading: reader) else {
              throw CommandFailure(.refused, "nobody asked for the end of \(account)")
            }
            return last
          }
          return try AccountDeletion.all(
            after: last, limit: invocation[limit] + 1, reading: reader)
        }
        let page = ListPage(found, limit: invocation[limit])
        var table = Table(
          ("ACCOUNT", .left), ("STATE", .left), ("ASKED", .left), ("ERASES", .left),
          ("ERASED", .left))
        for deletion in page.rows {
          table.add(
            deletion.account.description, deletion.state.rawValue,
            Terminal.time(deletion.asked, now: now), Terminal.time(deletion.erases, now: now),
            Terminal.time(deletion.erased, now: now))
        }
        let more: String? = page.notice(of: "deletions") {
          (deletion: AccountDeletion) -> String in deletion.account.description
        }
        return Answer(
          text: table.text, json: ["deletions": .array(page.rows.map { json($0) })], notice: more)
      }
    })

  /// For so many days after it is asked for, or exported, an account can be kept after all.
  static func deletionDelayDays(_ invocation: Invocation) throws -> Int64 {
    var reader = SettingsReader(invocation.settings, for: .command)
    return reader.value(SyncSettings.deletionDelayDays) ?? 7
  }

  private static func json(_ deletion: AccountDeletion) -> JSONValue {
    [
      "account": .string(deletion.account.description),
      "state": .string(deletion.state.rawValue), "asked": .string(deletion.asked.description),
      "erases": time(deletion.erases),
      "erased": time(deletion.erased),
    ]
  }

  private static func time(_ moment: Instant?) -> JSONValue {
    moment.map { .string($0.description) } ?? .null
  }
}

extension DeletionConsequences {
  /// As an act shows them.
  fileprivate var figures: [JSONValue.Member] {
    members.filter { $0.name != "shared_with" }
  }
}
