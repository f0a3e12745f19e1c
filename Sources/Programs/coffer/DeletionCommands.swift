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

  static let accountDelete = Command(
    words: ["account", "delete"],
    abstract: "Has an account erased, after days in which it can be kept after all.",
    discussion: """
      Nothing of it is written from now on; it can be read, and exported (coffer account export), until \
      COFFER_DELETION_DELAY_DAYS are over. Then coffer-sync erases keys, names, records, contents and \
      shares, and coffer-billing what its stores delivered; Stripe and Google Play are told at once to bill \
      no more. What is kept, and why, is in docs/leaving.md. Where its end was asked for already, --now \
      brings it forward. Its owner asks for it by DELETE /v1/account.
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
          let (account, known) = try DatabaseSession.lockedAccount(
            transaction, invocation[CommonArguments.account])
          let consequences = try DeletionConsequences(of: account.id, reading: transaction)
          let erases =
            isExported ? nil : invocation[now] ? moment : moment + .days(days)
          if let known {
            guard invocation[now] else {
              throw CommandFailure(
                .refused,
                "the end of \(account.id) was asked for on \(known.asked); it "
                  + (known.erases.map { "is erased from \($0) on" } ?? "waits for its export")
                  + ", and --now erases it at once")
            }
            if let moment = known.erases, moment <= configuration.clock.now() {
              throw CommandFailure(
                .refused,
                "\(account.id) is erased from \(moment) on, which is past: coffer-sync does it")
            }
            _ = try AccountDeletion.hasten(account.id, erasing: moment, in: transaction)
          } else {
            _ = try AccountDeletion.ask(
              for: account.id, erasing: erases, at: moment, in: transaction)
          }
          let state: AccountDeletion.State = isExported ? .exporting : .waiting
          return Act.Effect(
            subject: account.id.description, name: account.username, account: account.id,
            before: .object(
              [
                .init("state", .string(known?.state.rawValue ?? "kept")),
                .init("erases", time(known?.erases)),
              ] + consequences.figures),
            after: ["state": .string(state.rawValue), "erases": time(erases)],
            text: "\(account.id) is erased "
              + (erases.map { "from \($0) on" }
                ?? "some days after coffer account export \(account.id) --to <path>")
              + (known?.state == .exporting ? ", without the export that it waited for" : "")
              + "; coffer deletion cancel keeps it as long as nothing of it is erased\n",
            members: [
              .init("account", .string(account.id.description)),
              .init("erases", time(erases)),
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
    arguments: [CommonArguments.account],
    options: Act.options,
    answers: Act.answers(["account": .text]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        try Act(invocation, on: database).whenConfirmed(at: configuration.clock.now()) {
          transaction in
          let (account, deletion) = try DatabaseSession.lockedAccount(
            transaction, invocation[CommonArguments.account])
          guard let deletion else {
            throw CommandFailure(.refused, "nobody asked for the end of \(account.id)")
          }
          guard try AccountDeletion.cancel(account.id, in: transaction) else {
            throw CommandFailure(.refused, "account \(account.id) is being erased")
          }
          let writes: JSONValue = deletion.suspended == nil ? "admitted" : "refused"
          return Act.Effect(
            subject: account.id.description, name: account.username, account: account.id,
            before: ["state": .string(deletion.state.rawValue), "writes": "refused"],
            after: ["state": "kept", "writes": writes],
            text: "\(account.id) is kept; what its stores were told, to bill no more, stays\n",
            members: [.init("account", .string(account.id.description))])
        }
      }
    })

  static let deletionList = Command(
    words: ["deletion", "list"],
    abstract: "Lists accounts whose end was asked for, the newest first.",
    discussion: """
      STATE is exporting (it waits for coffer account export), waiting (it can be kept), erasing or erased. \
      Of what is erased its id and these times are all that is listed.
      """,
    options: [limit, after],
    answers: .page(
      "deletions",
      of: [
        "account": .text, "username": .orNull(.text), "state": .text, "asked": .time,
        "erases": .orNull(.time), "erased": .orNull(.time),
      ]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (page, names) = try database.read { reader in
          let last = try invocation[after].map { account in
            guard let last = try AccountDeletion.find(account, reading: reader) else {
              throw CommandFailure(.refused, "nobody asked for the end of \(account)")
            }
            return last
          }
          let page = ListPage(
            try AccountDeletion.all(after: last, limit: invocation[limit] + 1, reading: reader),
            limit: invocation[limit], cursor: \.account.description)
          let names = try page.rows.map { try Account.find(reader, $0.account)?.username }
          return (page, names)
        }
        var table = Table(
          ("ACCOUNT", .left), ("USERNAME", .left), ("STATE", .left), ("ASKED", .left),
          ("ERASES", .left), ("ERASED", .left))
        for (deletion, name) in zip(page.rows, names) {
          table.add(
            deletion.account.description, name ?? "-", deletion.state.rawValue,
            Terminal.time(deletion.asked, now: now), Terminal.time(deletion.erases, now: now),
            Terminal.time(deletion.erased, now: now))
        }
        return Answer(
          text: table.text, json: page.json("deletions", zip(page.rows, names).map(json)),
          notice: page.notice(of: "deletions"))
      }
    })

  /// For so many days after it is asked for, or exported, an account can be kept after all.
  static func deletionDelayDays(_ invocation: Invocation) throws -> Int64 {
    var reader = SettingsReader(invocation.settings, for: .command)
    return reader.value(SyncSettings.deletionDelayDays) ?? 7
  }

  private static func json(_ deletion: AccountDeletion, _ name: String?) -> JSONValue {
    [
      "account": .string(deletion.account.description),
      "username": name.map { .string($0) } ?? .null,
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
