internal import Accounts
internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  private static let limit = Parameter<Int>.limit(of: " entries of the ledger", otherwise: 20)
  private static let after = Parameter<Int64?>.optional(
    "--after", "number", text: "start below this number (see the previous page's last line)",
    .number(in: 1...Int64.max))

  static let usageShow = Command(
    words: ["usage", "show"],
    abstract: "Show an account's usage and how it adds up",
    discussion: """
      Counts the live records and their content, and compares that with the recorded total that writes are \
      checked against. The ledger shows how the total came about: the last 5,000 entries one by one, older \
      ones summed by reason. TRAFFIC lists what clients sent and received by month (UTC). If the total is \
      wrong, coffer usage recount corrects it.
      """,
    examples: ["coffer usage show ada"],
    arguments: [CommonArguments.account],
    options: [limit, after],
    answers: JSONShape.object(
      [
        .init("account", .text), .init("cap", .integer), .init("plan", .text),
        .init("reason", .text), .init("suspended", .orNull(.time)),
        .init("deletion", .orNull(.text)),
      ] + UsageFinding.shape
    ).adding([
      .init(
        "types",
        .list(["type": .text, "records": .integer, "content": .integer, "fees": .integer])),
      .init("reasons", .list(["reason": .text, "entries": .integer, "bytes": .integer])),
      .init("transfers", .list(["month": .text, "received": .integer, "sent": .integer])),
      .init(
        "entries",
        .list([
          "number": .integer, "at": .time, "reason": .text, "bytes": .integer, "file": .text,
          "entries": .integer,
        ])),
      .init("next", .orNull(.text)),
    ]),
    run: { invocation in
      let limit = invocation[limit]
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let recount = Recount(database, catalogue: configuration.catalogue)
        let account = try database.read { reader in
          try DatabaseSession.account(reader, invocation[CommonArguments.account])
        }
        guard let finding = try recount.audit(account.id) else {
          throw CommandFailure(.refused, "there is no account \(account.id)")
        }
        let (report, notice) = try database.read { reader in
          let entries = ListPage(
            try UsageEntry.latest(
              reader, of: account.id, below: invocation[after] ?? .max, limit: limit + 1),
            limit: limit, cursor: { "\($0.number)" })
          let now = configuration.clock.now()
          let report = UsageReport(
            account: account,
            cap: try Cap(reader, account.id, catalogue: configuration.catalogue, now: now),
            deletion: try DeletionProgress(of: account.id, reading: reader),
            now: now, finding: finding,
            entries: entries, months: try Transfers.months(reader, account.id))
          let notice = try entries.notice(of: "entries") {
            try UsageEntry.count(reader, of: account.id)
          }
          return (report, notice)
        }
        return Answer(text: report.text, json: report.json, notice: notice)
      }
    })
}

/// An account's usage as an operator sees it.
private struct UsageReport {
  let account: Account
  let cap: Cap
  let deletion: DeletionProgress?
  let now: Instant
  let finding: UsageFinding
  /// Latest first.
  let entries: ListPage<UsageEntry>
  let months: [Transfers.Month]

  var text: String {
    [head, records.text, reasons.text, transfers.text, ledger.text].joined(separator: "\n")
  }

  private var suspended: Instant? { account.suspended(beside: deletion?.deletion) }

  private var head: String {
    let isRight =
      finding.isRight ? "yes" : "no: coffer usage recount \(account.id) corrects it"
    return """
      account    \(account.id)
      suspended  \(suspended?.description ?? "-")
      deletion   \(deletion?.text ?? "-")
      used       \(finding.recordedByteCount) bytes (\(ByteCount.text(finding.recordedByteCount)))
      cap        \(cap.byteCount) bytes (\(ByteCount.text(cap.byteCount)))
      plan       \(cap.planID)
      reason     \(cap.reason.rawValue)
      counted    \(finding.trueByteCount) bytes in \(finding.trueRecordCount) live records
      ledger     \(finding.ledgerByteCount) bytes
      right      \(isRight)

      """
  }

  private var kinds: [(kind: String, weight: UsageFinding.Weight)] {
    finding.weights.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private var records: Table {
    var table = Table(("TYPE", .left), ("RECORDS", .right), ("CONTENT", .right), ("FEES", .right))
    for (kind, weight) in kinds {
      table.add(
        kind, String(weight.recordCount), String(weight.contentByteCount),
        String(weight.recordCount * finding.feeByteCount))
    }
    return table
  }

  private var posted: [(reason: String, posted: UsageFinding.Posted)] {
    finding.ledger.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private var reasons: Table {
    var table = Table(("REASON", .left), ("ENTRIES", .right), ("BYTES", .right))
    for (reason, posted) in posted {
      table.add(reason, String(posted.entryCount), String(posted.byteCount))
    }
    return table
  }

  private var transfers: Table {
    var table = Table(("MONTH", .left), ("RECEIVED", .right), ("SENT", .right))
    for month in months {
      table.add(month.text, String(month.receivedByteCount), String(month.sentByteCount))
    }
    return table
  }

  private var ledger: Table {
    var table = Table(
      ("NUMBER", .right), ("AT", .left), ("REASON", .left), ("BYTES", .right), ("FILE", .left))
    for entry in entries.rows {
      table.add(
        String(entry.number), Terminal.time(entry.at, now: now), entry.reason,
        String(entry.deltaByteCount),
        entry.entryCount == 1
          ? entry.file.description : "\(entry.entryCount) entries up to then, folded")
    }
    return table
  }

  var json: JSONValue {
    .object(
      [
        .init("account", .string(account.id.description)), .init("cap", .integer(cap.byteCount)),
        .init("plan", .string(cap.planID)), .init("reason", .string(cap.reason.rawValue)),
        .init("suspended", suspended.map { .string($0.description) } ?? .null),
        .init("deletion", deletion.map { .string($0.state.rawValue) } ?? .null),
      ] + finding.members + [
        .init(
          "types",
          .array(
            kinds.map { kind, weight in
              [
                "type": .string(kind), "records": .integer(weight.recordCount),
                "content": .integer(weight.contentByteCount),
                "fees": .integer(weight.recordCount * finding.feeByteCount),
              ]
            })),
        .init(
          "reasons",
          .array(
            posted.map { reason, posted in
              [
                "reason": .string(reason), "entries": .integer(posted.entryCount),
                "bytes": .integer(posted.byteCount),
              ]
            })),
        .init("transfers", .array(months.map(Self.json))),
        .init("entries", .array(entries.rows.map(Self.json))), .init("next", entries.cursor),
      ])
  }

  private static func json(_ month: Transfers.Month) -> JSONValue {
    [
      "month": .string(month.text), "received": .integer(month.receivedByteCount),
      "sent": .integer(month.sentByteCount),
    ]
  }

  private static func json(_ entry: UsageEntry) -> JSONValue {
    [
      "number": .integer(entry.number), "at": .string(entry.at.description),
      "reason": .string(entry.reason), "bytes": .integer(entry.deltaByteCount),
      "file": .string(entry.file.description), "entries": .integer(entry.entryCount),
    ]
  }
}

extension UsageFinding {
  static let shape: [JSONShape.Member] = [
    .init("recorded", .integer), .init("ledger", .integer), .init("counted", .integer),
    .init("recorded_records", .integer), .init("counted_records", .integer), .init("right", .bool),
  ]

  /// The recorded and the true figures, as commands print them.
  var members: [JSONValue.Member] {
    [
      .init("recorded", .integer(recordedByteCount)), .init("ledger", .integer(ledgerByteCount)),
      .init("counted", .integer(trueByteCount)),
      .init("recorded_records", .integer(recordedRecordCount)),
      .init("counted_records", .integer(trueRecordCount)), .init("right", .bool(isRight)),
    ]
  }
}
