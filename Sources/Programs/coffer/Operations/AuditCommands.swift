import Accounts
import Acts
import Audit
import Base
import CommandLine
import Configuration
import JSON
import Orders
import Storage

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let account = Parameter<String?>.optional(
    "--account", "account", text: "only this account (id or username), also if deleted", .text)
  private static let actor = Parameter<String?>.optional(
    "--actor", "name", text: "only this operator", .text)
  private static let since = Parameter<StatedTime?>.optional(
    "--since", "time", text: "only since this time in UTC: 2026-11-01T10:00:00Z, 2026-11-01 or 2h",
    .time)
  private static let after = Parameter<AuditEntry.Name?>.optional(
    "--after", "entry", text: "start after this entry, e.g. billing:12", .entry)
  private static let entry = Parameter<AuditEntry.Name>.required(
    "entry", text: "entry from coffer audit list, e.g. billing:12", .entry)
  private static let head = Parameter<[[UInt8]]>.repeatable(
    "--head", "digest", text: "earlier head that must still be in the log",
    Form { text in
      Hex.decode(text).flatMap { $0.count == 32 ? $0 : nil }
    } refusal: {
      "\($1) takes 64 hexadecimal digits"
    })

  static let auditList = Command(
    words: ["audit", "list"],
    abstract: "List what operators did, newest first",
    discussion: """
      Each entry is written in the transaction of its action, so no action is missing. An order to a store \
      has two entries: "ordered" before the store is asked, and the outcome, recorded by coffer-billing. \
      "ordered, open" means that there is no outcome yet. The last line checks the digest chain of the \
      latest 1,000 entries of each log. If it is broken, the exit code is 1.
      """,
    examples: ["coffer audit list --account ada --since 2d"],
    options: [account, actor, since, limit, after],
    answers: entries.shape.adding([.init("chain", Chain.listing.item)]),
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        var query = AuditQuery()
        query.account = try invocation[account].map { text in
          try Identifier(text) ?? DatabaseSession.account(reader, text).id
        }
        (query.actor, query.since) = (invocation[actor], invocation[since]?.moment(at: now))
        let last = try invocation[after].map { try find($0, reader) }
        let page = try entries.page(invocation, by: \.name.description) {
          try query.entries(after: last, limit: $0, reading: reader)
        }
        let more = try page.notice(countedTo: 10_000) {
          try query.count(upTo: $0, reading: reader)
        }
        let chain = Chain(
          try Schema.allCases.map { try AuditCheck(latest: 1000, of: $0, reading: reader) })
        let isEmpty = page.rows.isEmpty && invocation[after] == nil
        let noActs = isEmpty ? invocation[actor].map { "no acts of \($0) are known" } : nil
        var answer = entries.answer(
          try page.map { try ListedEntry($0, reader) }, at: now, notice: noActs ?? more
        ).adding([.init("chain", Chain.listing.json(chain))], text: chain.text)
        if !chain.faults.isEmpty { answer.code = .refused }
        return answer
      }
    })

  static let auditShow = Command(
    words: ["audit", "show"],
    abstract: "Show one action with the state before and after",
    examples: ["coffer audit show billing:12"],
    arguments: [entry],
    answers: entries.item,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, _ in
        let listed = try ListedEntry(find(invocation[entry], reader), reader)
        let entry = listed.entry
        let outcome = listed.order.map { order in
          "outcome  \(order.closing?.description ?? order.state.rawValue)"
            + (order.answer.map { ": \($0)" } ?? "")
        }
        let lines =
          [
            "entry    \(entry.name)", "at       \(entry.at)", "actor    \(entry.actor)",
            "act      \(entry.act)", "subject  \(listed.subject)", "reason   \(entry.reason)",
          ] + [outcome].compactMap { $0 } + ["digest   \(Hex.encode(entry.digest))", ""]
        return Answer(
          text: lines.map { Printable.text($0) + "\n" }.joined()
            + BeforeAfter.text(ListedEntry.value(entry.before), ListedEntry.value(entry.after)),
          json: entries.json(listed))
      }
    })

  static let auditVerify = Command(
    words: ["audit", "verify"],
    abstract: "Check that no audit entry was changed, removed or added",
    discussion: """
      Each entry's digest covers the entry before it. Each schema has a log of its own. The command names \
      the first entry that does not match and exits with 1. Keep the heads it prints elsewhere: anyone who \
      can write to the database could cut the log or rewrite all of it, and only --head with an earlier \
      head detects that.
      """,
    examples: [
      "coffer audit verify",
      "coffer audit verify --head <digest>",
    ],
    options: [head],
    answers: .object([
      .init("whole", .bool), logs.memberShape, .init("faults", .list(.text)),
    ]),
    run: { invocation in
      let heads = Set(invocation[head])
      return try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        let checks = try Schema.allCases.map { schema in
          let progress = Progress("checking \(schema)", .count(of: "entries"))
          return try AuditCheck(schema, seeking: heads, of: database) { count, total in
            progress.total = total
            progress.done = count
          }
        }
        let found = checks.reduce(into: Set<[UInt8]>()) { $0.formUnion($1.found) }
        let faults =
          checks.compactMap(\.fault)
          + heads.subtracting(found).map(Hex.encode).sorted().map {
            "no entry has the digest \($0)"
          }
        return Answer(
          code: faults.isEmpty ? .ok : .refused,
          text: logs.text(checks, at: configuration.clock.now()),
          json: .object([
            .init("whole", .bool(faults.isEmpty)), logs.member(checks),
            .init("faults", .array(faults.map { .string($0) })),
          ]), notice: faults.isEmpty ? nil : faults.joined(separator: "; "))
      }
    })

  private static var logs: Listing<AuditCheck> {
    Listing(
      "logs",
      [
        .text("log", "LOG") { $0.schema.rawValue }, .integer("entries", "ENTRIES") { $0.count },
        .text("head", "HEAD") { Hex.encode($0.head) },
      ])
  }

  private struct Chain {
    let checkedCount: Int64
    let isAll: Bool
    let faults: [String]

    init(_ checks: [AuditCheck]) {
      checkedCount = checks.reduce(0) { $0 + $1.checkedCount }
      isAll = checks.allSatisfy { $0.begin == 0 }
      faults = checks.compactMap(\.fault)
    }

    var text: String {
      guard faults.isEmpty else {
        return
          "chain    BROKEN: \(faults.joined(separator: "; ")); coffer audit verify checks the whole log\n"
      }
      let entries = "\(checkedCount.grouped) entries"
      return isAll
        ? "chain    intact over all \(entries)\n"
        : "chain    intact over the latest \(entries); coffer audit verify checks all of them\n"
    }

    static var listing: Listing<Chain> {
      Listing([
        .bool("whole") { $0.faults.isEmpty }, .integer("checked") { $0.checkedCount },
        .bool("all") { $0.isAll }, .texts("faults") { $0.faults },
      ])
    }
  }

  private static func find(_ name: AuditEntry.Name, _ reader: Reader) throws -> AuditEntry {
    guard let entry = try AuditEntry.find(name, reading: reader) else {
      throw CommandFailure(.refused, "there is no entry \(name)")
    }
    return entry
  }

  private static var entries: Listing<ListedEntry> {
    Listing(
      "entries",
      [
        .text("entry", "ENTRY") { $0.entry.name.description }, .time("at", "AT") { $0.entry.at },
        .text("actor", "ACTOR") { $0.entry.actor },
        Column(
          "act", .text, "ACT", json: { .string($0.entry.act) },
          cell: { row, _ in row.entry.act + (row.order?.state.isClosed == false ? ", open" : "") }),
        Column(
          "subject", .text, "SUBJECT", json: { .string($0.entry.subject) },
          cell: { row, _ in row.subject }),
        Column(
          "reason", .text, "REASON", json: { .string($0.entry.reason) },
          cell: { row, _ in row.entry.reason.isEmpty ? "-" : row.entry.reason }),
        .optionalText("account") { $0.entry.account?.description },
        .optionalText("former_account") { $0.entry.formerAccount?.description },
        Column("before", .anything, json: { ListedEntry.value($0.entry.before) }),
        Column("after", .anything, json: { ListedEntry.value($0.entry.after) }),
        .optionalText("order") { $0.order?.state.rawValue },
        .optionalText("answer") { $0.order?.answer },
        .optionalText("outcome") { $0.order?.closing?.description },
        .text("digest") { Hex.encode($0.entry.digest) },
      ])
  }
}

/// An entry with what it does not hold itself.
private struct ListedEntry {
  let entry: AuditEntry
  let order: Order?
  /// The object of the act, by its current name if it is an account: the log holds only ids.
  let subject: String

  init(_ entry: AuditEntry, _ reader: Reader) throws {
    self.entry = entry
    order =
      entry.name.schema == .billing ? try OrderRows.find(entry.name.number, reading: reader) : nil
    let account = entry.account.flatMap { $0.description == entry.subject ? $0 : nil }
    subject = try account.flatMap { try Account.find(reader, $0)?.shown } ?? entry.subject
  }

  /// Text that is not JSON was not written by an act. It is shown as it is, and `audit verify` reports it.
  static func value(_ text: String) -> JSONValue {
    do {
      return JSONValue(try JSON.parse(Array(text.utf8))) ?? .null
    } catch {
      return .string(text)
    }
  }
}

extension Form where Value == AuditEntry.Name {
  fileprivate static var entry: Form {
    Form {
      AuditEntry.Name($0)
    } refusal: { text, _ in
      "\(text) is not an entry of the audit log, e.g. billing:12"
    }
  }
}
