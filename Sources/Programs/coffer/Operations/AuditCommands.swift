internal import Accounts
internal import Acts
internal import Audit
internal import Base
internal import CommandLine
internal import Configuration
internal import Doctor
internal import JSON
internal import Orders
internal import Storage
internal import Sync

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let account = Parameter<String?>.optional(
    "--account", "account", text: "only this account (id or username), also if deleted",
    .text)
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
    "--head", "digest", text: "earlier head that must still be in the log", .digest
  )

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
    answers: .page("entries", of: entryShape).adding([
      .init("chain", ["whole": .bool, "checked": .integer, "all": .bool, "faults": .list(.text)])
    ]),
    run: { invocation in
      let limit = invocation[limit]
      return try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (page, names, found, more, chain) = try database.read { reader in
          var query = AuditQuery()
          query.account = try invocation[account].map { text in
            try Identifier(text) ?? DatabaseSession.account(reader, text).id
          }
          (query.actor, query.since) = (
            invocation[actor], invocation[since]?.moment(at: now)
          )
          let after = try invocation[after].map { try find($0, reader) }
          let page = ListPage(
            try query.entries(after: after, limit: limit + 1, reading: reader), limit: limit,
            cursor: \.name.description)
          let more = try page.notice(of: "entries", countedTo: 10_000) {
            try query.count(upTo: $0, reading: reader)
          }
          return (
            page, try currentNames(of: page.rows, reader),
            try orders(among: page.rows, reader), more,
            Chain(try Schema.allCases.map { try AuditCheck(latest: 1000, of: $0, reading: reader) })
          )
        }
        let entries = page.rows
        var table = Table(
          ("ENTRY", .left), ("AT", .left), ("ACTOR", .left), ("ACT", .left), ("SUBJECT", .left),
          ("REASON", .left))
        for entry in entries {
          table.add(
            entry.name.description, Terminal.time(entry.at, now: now), entry.actor,
            entry.act + (found[entry.name].map { $0.state.isClosed ? "" : ", open" } ?? ""),
            subject(of: entry, names), entry.reason.isEmpty ? "-" : entry.reason)
        }
        let isEmpty = entries.isEmpty && invocation[after] == nil
        let noActs = isEmpty ? invocation[actor].map { "no acts of \($0) are known" } : nil
        return Answer(
          code: chain.faults.isEmpty ? .ok : .refused, text: table.text + chain.text,
          json: page.json(
            "entries", entries.map { json($0, found[$0.name]) },
            adding: [.init("chain", chain.json)]),
          notice: noActs ?? more)
      }
    })

  static let auditShow = Command(
    words: ["audit", "show"],
    abstract: "Show one action with the state before and after",
    examples: ["coffer audit show billing:12"],
    arguments: [entry],
    answers: entryShape,
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, _ in
        let name = invocation[entry]
        let (entry, names, order) = try database.read { reader in
          let entry = try find(name, reader)
          return (
            entry, try currentNames(of: [entry], reader),
            try orders(among: [entry], reader)[entry.name]
          )
        }
        let outcome = order.map { order in
          "outcome  \(order.closing?.description ?? order.state.rawValue)"
            + (order.answer.map { ": \($0)" } ?? "")
        }
        let lines =
          [
            "entry    \(entry.name)", "at       \(entry.at)", "actor    \(entry.actor)",
            "act      \(entry.act)", "subject  \(subject(of: entry, names))",
            "reason   \(entry.reason)",
          ] + [outcome].compactMap { $0 } + ["digest   \(Hex.encode(entry.digest))", ""]
        return Answer(
          text: lines.map { Printable.text($0) + "\n" }.joined()
            + BeforeAfter.text(value(entry.before), value(entry.after)),
          json: json(entry, order))
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
    answers: [
      "whole": .bool,
      "logs": .list(["log": .text, "entries": .integer, "head": .text]), "faults": .list(.text),
    ],
    run: { invocation in
      let heads = Set(invocation[head])
      return try DatabaseSession.withAnyCatalogue(invocation) { database, _ in
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
        var table = Table(("LOG", .left), ("ENTRIES", .right), ("HEAD", .left))
        for check in checks {
          table.add(check.schema.rawValue, String(check.count), Hex.encode(check.head))
        }
        return Answer(
          code: faults.isEmpty ? .ok : .refused, text: table.text,
          json: [
            "whole": .bool(faults.isEmpty),
            "logs": .array(
              checks.map { check in
                [
                  "log": .string(check.schema.rawValue), "entries": .integer(check.count),
                  "head": .string(Hex.encode(check.head)),
                ]
              }),
            "faults": .array(faults.map { .string($0) }),
          ], notice: faults.isEmpty ? nil : faults.joined(separator: "; "))
      }
    })

  /// The check of the latest entries of both logs.
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

    var json: JSONValue {
      [
        "whole": .bool(faults.isEmpty), "checked": .integer(checkedCount), "all": .bool(isAll),
        "faults": .array(faults.map { .string($0) }),
      ]
    }
  }

  private static func find(_ name: AuditEntry.Name, _ reader: Reader) throws -> AuditEntry {
    guard let entry = try AuditEntry.find(name, reading: reader) else {
      throw CommandFailure(.refused, "there is no entry \(name)")
    }
    return entry
  }

  /// The orders that were given by some of the entries.
  private static func orders(
    among entries: [AuditEntry], _ reader: Reader
  ) throws -> [AuditEntry.Name: Order] {
    let numbers = entries.map(\.name).filter { $0.schema == .billing }.map(\.number)
    let orders = try OrderRows.find(numbers, reading: reader)
    return Dictionary(uniqueKeysWithValues: orders.values.map { ($0.name, $0) })
  }

  /// The current names of the accounts that acts were about: the log holds only their ids.
  private static func currentNames(
    of entries: [AuditEntry], _ reader: Reader
  ) throws -> [Identifier: String] {
    var names: [Identifier: String] = [:]
    for account in Set(entries.compactMap(\.account)) {
      names[account] = try Account.find(reader, account)?.shown
    }
    return names
  }

  private static func subject(of entry: AuditEntry, _ names: [Identifier: String]) -> String {
    guard let account = entry.account, account.description == entry.subject else {
      return entry.subject
    }
    return names[account] ?? entry.subject
  }

  /// Text that is not JSON was not written by an act. It is shown as it is, and `audit verify` reports it.
  private static func value(_ text: String) -> JSONValue {
    do {
      return JSONValue(try JSON.parse(Array(text.utf8))) ?? .null
    } catch {
      return .string(text)
    }
  }

  private static let entryShape: JSONShape = [
    "entry": .text, "at": .time, "actor": .text, "act": .text, "subject": .text,
    "account": .orNull(.text), "former_account": .orNull(.text), "reason": .text,
    "before": .anything, "after": .anything, "order": .orNull(.text), "answer": .orNull(.text),
    "outcome": .orNull(.text), "digest": .text,
  ]

  private static func json(_ entry: AuditEntry, _ order: Order?) -> JSONValue {
    [
      "entry": .string(entry.name.description), "at": .string(entry.at.description),
      "actor": .string(entry.actor), "act": .string(entry.act),
      "subject": .string(entry.subject),
      "account": entry.account.map { .string($0.description) } ?? .null,
      "former_account": entry.formerAccount.map { .string($0.description) } ?? .null,
      "reason": .string(entry.reason), "before": value(entry.before),
      "after": value(entry.after),
      "order": order.map { .string($0.state.rawValue) } ?? .null,
      "answer": order?.answer.map { .string($0) } ?? .null,
      "outcome": order?.closing.map { .string($0.description) } ?? .null,
      "digest": .string(Hex.encode(entry.digest)),
    ]
  }
}

extension Form where Value == AuditEntry.Name {
  fileprivate static var entry: Form {
    Form { (text, _) throws(CommandFailure) in
      if let name = AuditEntry.Name(text) { return name }
      throw CommandFailure(.usage, "\(text) is not an entry of the audit log, e.g. billing:12")
    }
  }
}

extension Form where Value == [UInt8] {
  fileprivate static var digest: Form {
    Form { (text, name) throws(CommandFailure) in
      if let bytes = Hex.decode(text), bytes.count == 32 { return bytes }
      throw CommandFailure(.usage, "\(name) takes 64 hexadecimal digits")
    }
  }
}
