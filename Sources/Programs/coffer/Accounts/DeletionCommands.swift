internal import Accounts
internal import Acts
internal import Answers
internal import Audit
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Requests
internal import Storage
internal import Stores
internal import Subscriptions
internal import Sync

extension Command {
  private static let now = Parameter<Bool>.flag(
    "--now", text: "erase at once, without the grace period")
  private static let exportFirst = Parameter<Bool>.flag(
    "--export-first", text: "erase only after coffer account export wrote an archive")
  private static let moved = Parameter<Bool>.flag(
    "--moved", text: "do not ask its stores to stop billing: another Coffer has the account"
  )
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
      let (answer, account) = try DatabaseSession.withAnyCatalogue(invocation) {
        database, configuration in
        let moment = configuration.clock.now()
        let days = try deletionDelayDays(invocation)
        let isExported = invocation[exportFirst]
        if isExported, invocation[now] {
          throw CommandFailure(.usage, "--now and --export-first exclude each other")
        }
        let hasMoved = invocation[moved]
        if hasMoved, isExported {
          throw CommandFailure(.usage, "--moved is for an account that was exported")
        }
        let ledger = Ledger(stores: .known, configuration)
        let exported = try database.read { reader in
          try lastExport(of: invocation[CommonArguments.account], reading: reader)
        }
        let account = try database.read { reader in
          try DatabaseSession.account(reader, invocation[CommonArguments.account]).id
        }
        let answer = try Act(invocation, on: database).whenConfirmed(at: moment) { transaction in
          let (account, known) = try DatabaseSession.lockedAccount(
            transaction, invocation[CommonArguments.account])
          let consequences = try DeletionConsequences(of: account.id, reading: transaction)
          let erases =
            isExported ? nil : invocation[now] ? moment : moment + .days(days)
          if let patience, let erases, erases > moment + patience {
            throw CommandFailure(
              .usage,
              "\(account.id) is erased from \(erases) on, later than --wait waits: give --now or a longer "
                + "--timeout")
          }
          if hasMoved, exported == nil {
            throw CommandFailure(
              .refused,
              "the audit log has no export of \(account.id): run coffer account export first")
          }
          let ofStores = try StoreConsequences(
            of: account.id, hasMoved: hasMoved || known?.hasMoved == true, exported: exported,
            ledger,
            reading: transaction)
          if let known {
            try requireSooner(
              known, isNow: invocation[now], hasMoved: hasMoved, at: configuration.clock.now())
            _ = try AccountDeletion.hasten(account.id, erasing: moment, in: transaction)
          } else {
            _ = try AccountDeletion.ask(
              for: account.id, erasing: erases, by: .operator, hasMoved: hasMoved, at: moment,
              in: transaction)
          }
          let state: AccountDeletion.State = isExported ? .exporting : .waiting
          return Act.Effect(
            subject: account.id.description, name: account.username, account: account.id,
            before: .object(
              [
                .init("state", .string(known?.state.rawValue ?? "kept")),
                .init("erases", time(known?.erases)),
              ] + consequences.figures),
            after: .object(
              [.init("state", .string(state.rawValue)), .init("erases", time(erases))]
                + ofStores.members),
            text: "\(account.id) is erased "
              + (erases.map { "from \($0) on" }
                ?? "some days after coffer account export \(account.id) --to <path>")
              + (known?.state == .exporting ? ", without the export that it waited for" : "")
              + "; coffer deletion cancel keeps it until erasing begins\n",
            members: [
              .init("account", .string(account.id.description)),
              .init("erases", time(erases)),
            ])
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

  /// Throws if a requested deletion would not come sooner, or if its stores may already have been
  /// asked to stop what --moved spares.
  private static func requireSooner(
    _ known: AccountDeletion, isNow: Bool, hasMoved: Bool, at moment: Instant
  ) throws {
    guard known.hasMoved || !hasMoved else {
      throw CommandFailure(
        .refused,
        "the deletion of \(known.account) was requested without --moved on \(known.asked), and its "
          + "stores may have been asked to stop billing; coffer deletion cancel keeps it")
    }
    guard isNow else {
      throw CommandFailure(
        .refused,
        "the deletion of \(known.account) was requested on \(known.asked); it "
          + (known.erases.map { "is erased from \($0) on" } ?? "waits for its export")
          + ", and --now erases it at once")
    }
    if let erases = known.erases, erases <= moment {
      throw CommandFailure(
        .refused,
        "\(known.account) is erased from \(erases) on, which has passed: coffer-sync does it"
      )
    }
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
      try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        try Act(invocation, on: database).whenConfirmed(at: configuration.clock.now()) {
          transaction in
          let (account, deletion) = try DatabaseSession.lockedAccount(
            transaction, invocation[CommonArguments.account])
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
    answers: .page(
      "deletions",
      of: [
        "account": .text, "username": .orNull(.text), "state": .text, "asked": .time,
        "erases": .orNull(.time), "erased": .orNull(.time), "moved": .bool,
        "parts": DeletionParts.shape,
      ]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (page, rows, more) = try database.read { reader in
          let last = try invocation[after].map { account in
            guard let last = try AccountDeletion.find(account, reading: reader) else {
              throw CommandFailure(.refused, "no deletion was requested for \(account)")
            }
            return last
          }
          let page = ListPage(
            try AccountDeletion.all(after: last, limit: invocation[limit] + 1, reading: reader),
            limit: invocation[limit], cursor: \.account.description)
          let rows = try page.rows.compactMap { try ListedDeletion($0, reader) }
          let more = try page.notice(of: "deletions") {
            try AccountDeletion.count(reading: reader)
          }
          return (page, rows, more)
        }
        var table = Table(
          ("ACCOUNT", .left), ("USERNAME", .left), ("STATE", .left), ("SYNC", .left),
          ("BILLING", .left), ("STORES", .left), ("ASKED", .left), ("ERASES", .left),
          ("ERASED", .left))
        for row in rows {
          let (progress, deletion) = (row.progress, row.progress.deletion)
          table.add(
            deletion.account.description, row.username ?? "-", progress.state.rawValue,
            progress.parts.sync.rawValue, progress.parts.billing.rawValue,
            progress.parts.stores.rawValue, Terminal.time(deletion.asked, now: now),
            Terminal.time(deletion.erases, now: now), Terminal.time(progress.erased, now: now))
        }
        return Answer(
          text: table.text, json: page.json("deletions", rows.map(\.json)),
          notice: more)
      }
    })

  /// The days after the request, or the export, in which an account can still be kept.
  static func deletionDelayDays(_ invocation: Invocation) throws -> Int64 {
    var reader = SettingsReader(invocation.settings, for: .command)
    return reader.value(SyncSettings.deletionDelayDays) ?? 7
  }

  /// The most acts on one account that are searched.
  private static let actCountMax = 1000

  /// When the account was last exported.
  private static func lastExport(of name: String, reading reader: Reader) throws -> Instant? {
    var query = AuditQuery()
    query.account = try DatabaseSession.account(reader, name).id
    return try query.entries(after: nil, limit: actCountMax, reading: reader)
      .first { $0.act == accountExport.name }?.at
  }

  private static func time(_ moment: Instant?) -> JSONValue {
    moment.map { .string($0.description) } ?? .null
  }
}

extension DeletionConsequences {
  /// The figures as an act shows them.
  fileprivate var figures: [JSONValue.Member] {
    members.filter { $0.name != "shared_with" }
  }
}

/// What the deletion of an account does about its subscriptions, in words.
private struct StoreConsequences {
  let members: [JSONValue.Member]

  init(
    of account: Identifier, hasMoved: Bool, exported: Instant?, _ ledger: Ledger,
    reading transaction: Transaction
  ) throws {
    let sentences = try ledger.collecting(of: account, reading: transaction).map { key in
      let traits = try StoreList.known.store(of: key).traits
      guard !hasMoved else {
        return "\(traits.title) keeps billing \(key.id), for the Coffer that has the account now"
      }
      guard traits.orders.contains(.stopRenewal) else {
        return "\(traits.title) keeps billing \(key.id): only the customer can stop it"
      }
      return "\(traits.title) will be asked to stop billing \(key.id)"
        + (exported.map {
          ", although the account was exported on \($0): with --moved it is not asked"
        }
          ?? "")
    }
    members =
      (hasMoved ? [.init("moved", .bool(true))] : [])
      + (sentences.isEmpty ? [] : [.init("stores", .array(sentences.map { .string($0) }))])
  }
}
