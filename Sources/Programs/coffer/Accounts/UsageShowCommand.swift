import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import KnownProtocols
import Storage
import Sync
import Tiers

extension Command {
  private static let limit = Parameter<Int>.limit(of: " entries of the ledger", otherwise: 20)
  private static let after = Parameter<Int64?>.below()

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
    answers: UsageReport.entries.shape.adding(UsageReport.listing.shapes),
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let recount = Recount(
          database, catalogue: configuration.catalogue, protocols: KnownProtocols.all)
        let account = try database.read { reader in
          try DatabaseSession.account(reader, invocation[CommonArguments.account])
        }
        guard let finding = try recount.audit(account.id) else {
          throw CommandFailure(.refused, "there is no account \(account.id)")
        }
        let now = configuration.clock.now()
        return try database.read { reader in
          let page = try UsageReport.entries.page(invocation, by: { "\($0.number)" }) {
            try UsageEntry.latest(
              reader, of: account.id, below: invocation[after] ?? .max, limit: $0)
          }
          let report = UsageReport(
            account: account,
            cap: try Cap(reader, account.id, catalogue: configuration.catalogue, now: now),
            deletion: try DeletionProgress(of: account.id, reading: reader), finding: finding,
            protocolHistory: try KnownProtocols.all.historyByteCount(
              of: account.id, reading: reader),
            months: try Transfers.months(reader, account.id))
          return UsageReport.entries.answer(
            page, at: now, notice: try page.notice { try UsageEntry.count(reader, of: account.id) }
          ).adding(UsageReport.listing.members(report), heading: report.text(at: now) + "\n")
        }
      }
    })
}

/// An account's usage as an operator sees it.
private struct UsageReport {
  let account: Account
  let cap: Cap
  let deletion: DeletionProgress?
  let finding: UsageFinding
  /// What protocols keep of what was replaced, besides the versions of files.
  let protocolHistory: Int64
  let months: [Transfers.Month]

  private var historyByteCount: Int64 { finding.recordedHistoryByteCount + protocolHistory }

  /// Everything but the entries of the ledger.
  static var listing: Listing<UsageReport> {
    Listing(
      [
        .integer("cap") { $0.cap.byteCount }, .text("plan") { $0.cap.planID },
        .text("reason") { $0.cap.reason.rawValue }, .optionalTime("suspended") { $0.suspended },
        .optionalText("deletion") { $0.deletion?.state.rawValue },
        .integer("history") { $0.historyByteCount },
        .integer("trash") { $0.finding.recordedTrashByteCount },
        .text("when_full") { $0.account.whenFull.rawValue }, .list("types", types) { $0.kinds },
        .list("reasons", reasons) { $0.posted }, .list("transfers", transfers) { $0.months },
      ] + Listing(UsageFinding.columns).columns { $0.finding })
  }

  func text(at now: Instant) -> String {
    [
      head, Self.types.text(kinds, at: now), Self.reasons.text(posted, at: now),
      Self.transfers.text(months, at: now),
    ].joined(separator: "\n")
  }

  private var suspended: Instant? { account.suspended(beside: deletion?.deletion) }

  private var head: String {
    let isRight = finding.isRight ? "yes" : "no: coffer usage recount \(account.id) corrects it"
    return """
      account    \(account.id)
      suspended  \(suspended?.description ?? "-")
      deletion   \(deletion?.text ?? "-")
      used       \(finding.recordedByteCount) bytes (\(ByteCount.text(finding.recordedByteCount)))
      cap        \(cap.byteCount) bytes (\(ByteCount.text(cap.byteCount)))
      plan       \(cap.planID)
      reason     \(cap.reason.rawValue)
      history    \(historyByteCount) bytes of it are earlier versions of files and documents
      trash      \(finding.recordedTrashByteCount) bytes of it are deleted files
      when full  \(account.whenFull == .purge ? "purge" : "keep") history and trash
      counted    \(finding.trueByteCount) bytes in \(finding.trueRecordCount) records
      ledger     \(finding.ledgerByteCount) bytes
      right      \(isRight)

      """
  }

  private typealias Kind = (name: String, weight: UsageWeight, feeByteCount: Int64)

  private var kinds: [Kind] {
    let kinds: [Kind] = finding.weights.sorted { $0.key < $1.key }.map {
      ($0.key, $0.value, $0.value.recordCount * finding.feeByteCount)
    }
    let (history, trash) = (finding.history, finding.trash)
    return kinds + (history.recordCount == 0 ? [] : [("version", history, 0)])
      + (trash.recordCount == 0 ? [] : [("trash", trash, trash.recordCount * finding.feeByteCount)])
  }

  private static var types: Listing<Kind> {
    Listing([
      .text("type", "TYPE") { $0.name }, .integer("records", "RECORDS") { $0.weight.recordCount },
      .integer("content", "CONTENT") { $0.weight.contentByteCount },
      .integer("fees", "FEES") { $0.feeByteCount },
    ])
  }

  private typealias Posted = (reason: String, sum: UsageFinding.Posted)

  private var posted: [Posted] {
    finding.ledger.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private static var reasons: Listing<Posted> {
    Listing([
      .text("reason", "REASON") { $0.reason },
      .integer("entries", "ENTRIES") { $0.sum.entryCount },
      .integer("bytes", "BYTES") { $0.sum.byteCount },
    ])
  }

  private static var transfers: Listing<Transfers.Month> {
    Listing([
      .text("month", "MONTH") { $0.text },
      .integer("received", "RECEIVED") { $0.receivedByteCount },
      .integer("sent", "SENT") { $0.sentByteCount },
    ])
  }

  static var entries: Listing<UsageEntry> {
    Listing(
      "entries",
      [
        .integer("number", "NUMBER") { $0.number }, .time("at", "AT") { $0.at },
        .text("reason", "REASON") { $0.reason }, .integer("bytes", "BYTES") { $0.deltaByteCount },
        Column(
          "file", .text, "FILE", json: { .string($0.file.description) },
          cell: { entry, _ in
            entry.entryCount == 1
              ? entry.file.description : "\(entry.entryCount) entries up to then, folded"
          }), .integer("entries") { $0.entryCount },
      ])
  }
}

extension UsageFinding {
  static var columns: [Column<UsageFinding>] {
    [
      .text("account", "ACCOUNT") { $0.account.description },
      .integer("recorded", "RECORDED") { $0.recordedByteCount },
      .integer("ledger", "LEDGER") { $0.ledgerByteCount },
      .integer("counted", "COUNTED") { $0.trueByteCount },
      .shown("DIFFERENCE", .right) { finding, _ in
        String(finding.trueByteCount - finding.recordedByteCount)
      },
      .integer("recorded_records", "RECORDS") { $0.recordedRecordCount },
      .integer("counted_records", "LIVE") { $0.trueRecordCount }, .bool("right") { $0.isRight },
    ]
  }
}
