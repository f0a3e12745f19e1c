internal import Accounts
internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import Doctor
internal import JSON
internal import Storage
internal import Sync

extension Command {
  private static let repair = Parameter<Bool>.flag(
    "--repair",
    text: "repair what has exactly one right repair; shows the repairs unless --yes is given")

  static let treeValidate = Command(
    words: ["tree", "validate"],
    abstract: "Check accounts' file trees for consistency",
    discussion: """
      Reads in short snapshots while the servers run. It checks parents, owners, cycles, heights and \
      names, deleted records, the place and length of contents, shares, links and views, every signature, \
      and the usage. Objects are checked where COFFER_OBJECTS is set. Findings are printed at once (with \
      --json at the end). The exit code is 1 if a rule is broken. Progress is on stderr and names the \
      current account, for --after. SIGINT and SIGTERM end a run over --all between two accounts.

      --repair shows what can be repaired; with --yes each repair is one transaction with an audit entry. \
      It repairs usage (like coffer usage recount), heights (height), bytes of a record without content \
      (content), a deletion mark on a live record (deletion), shares of missing files (share_of_nothing) \
      and views (view). Everything else is only reported. REPAIR is done, possible, none, or settled if \
      the rule holds again. The exit code is 0 if nothing is left, and 3 if --yes would repair all of it.
      """,
    examples: [
      "coffer tree validate ada",
      "coffer tree validate --all --repair --yes --reason \"after restore\"",
    ],
    arguments: [AccountWalk.account],
    options: [AccountWalk.all, AccountWalk.after, repair, Act.yes, Act.remark],
    answers: .object([
      .init("accounts", .integer), .init("rows", .integer), .init("broken", .integer),
      .init(
        "listed",
        .list(
          JSONShape.object([
            .init("account", .text), .init("file", .text), .init("rule", .text),
            .init("text", .text), .init("repair", .text, isOptional: true),
          ]))),
      .init("repaired", .integer, isOptional: true),
      AccountWalk.Interrupted.shape,
    ]),
    run: { invocation in
      guard invocation[repair] || !invocation[Act.yes] && invocation[Act.remark] == nil else {
        throw CommandFailure(.usage, "--yes and --reason are for --repair")
      }
      let named = try AccountWalk.named(invocation)
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        var round = ValidationRound(
          database, try configuration.objectsDirectory.map { try ObjectStore(existing: $0) },
          Recount(database, catalogue: configuration.catalogue),
          repairing: !invocation[repair]
            ? nil
            : TreeRepairs(
              database, try Act(invocation, on: database), configuration.clock,
              does: invocation[Act.yes]),
          printing: !invocation[CommonOptions.json])
        var interrupted: AccountWalk.Interrupted?
        if let named {
          let account = try database.read { try DatabaseSession.account($0, named).id }
          let progress = Progress("validating", .count(of: "rows"))
          try round.take(account, progress) { progress.done = $0 }
        } else {
          interrupted = try AccountWalk.each(
            "validating", of: database, after: invocation[AccountWalk.after]
          ) { try round.take($0, $1) }
        }
        return round.answer(interrupted)
      }
    })
}

/// One run over one account or all of them, and the rules that it found broken.
private struct ValidationRound {
  private let database: Database
  private let objects: ObjectStore?
  private let recount: Recount
  /// Nil if nothing is repaired.
  private let repairs: TreeRepairs?
  /// Whether findings are printed at once.
  private let prints: Bool
  private var accountCount = 0
  private var rowCount: Int64 = 0
  private var brokenCount = 0
  private var repairedCount = 0
  private var repairableCount = 0
  private var listed: [Broken] = []

  private static let listedCountMax = 1000

  init(
    _ database: Database, _ objects: ObjectStore?, _ recount: Recount,
    repairing repairs: TreeRepairs?, printing prints: Bool
  ) {
    self.repairs = repairs
    self.database = database
    self.objects = objects
    self.recount = recount
    self.prints = prints
  }

  mutating func take(
    _ account: Identifier, _ progress: Progress, each: (_ rows: Int64) -> Void = { _ in }
  ) throws {
    accountCount += 1
    var audit = TreeAudit(account, objects: objects)
    while !audit.isRead {
      for finding in try database.read({ try audit.readSlice($0) }) {
        try note(
          Broken(
            account, finding.law.rawValue, finding.subject, finding.law.text,
            try repairs?.repair(finding, of: account)), progress)
      }
      each(audit.checkedCount)
    }
    rowCount += audit.checkedCount
    if let usage = try recount.audit(account), !usage.isRight {
      try note(
        Broken(
          account, "usage", account,
          "the recorded usage matches the files; coffer usage recount corrects it",
          try repairs?.correct(account, recount)), progress)
    }
  }

  private mutating func note(_ broken: Broken, _ progress: Progress) throws {
    brokenCount += 1
    switch broken.repair {
    case .done, .settled: repairedCount += 1
    case .possible: repairableCount += 1
    case .impossible, nil: break
    }
    guard listed.count < Self.listedCountMax else { return }
    listed.append(broken)
    guard prints else { return }
    progress.makeRoom()
    try StandardOutput.writeOn(broken.line(isFirst: listed.count == 1))
  }

  func answer(_ interrupted: AccountWalk.Interrupted?) -> Answer {
    let accounts = counted(accountCount, "account")
    let left = brokenCount - repairedCount
    let sums = repairs == nil ? "" : ", \(repairedCount) repaired"
    return Answer(
      code: left == 0 ? .ok : left == repairableCount ? .unconfirmed : .refused,
      text: (listed.isEmpty ? "" : "\n")
        + "\(accounts), \(rowCount) rows, \(brokenCount) broken rules\(sums)\n",
      json: .object(
        [
          .init("accounts", .integer(Int64(accountCount))), .init("rows", .integer(rowCount)),
          .init("broken", .integer(Int64(brokenCount))),
          .init("listed", .array(listed.map(\.json))),
        ] + (repairs == nil ? [] : [.init("repaired", .integer(Int64(repairedCount)))])
          + (interrupted.map { [$0.json] } ?? [])),
      notice: repairableCount == 0
        ? nil : "no changes made; --yes repairs \(counted(repairableCount, "row"))",
      whenWritten: interrupted?.end)
  }
}

/// A rule that a row breaks.
private struct Broken {
  private let account: Identifier
  private let rule: String
  private let file: Identifier
  private let text: String
  /// Nil if nothing is repaired.
  let repair: TreeRepairs.Word?

  init(
    _ account: Identifier, _ rule: String, _ file: Identifier, _ text: String,
    _ repair: TreeRepairs.Word?
  ) {
    self.repair = repair
    self.account = account
    self.rule = rule
    self.file = file
    self.text = text
  }

  /// As wide as any rule's name, because rows are printed before the next one is known.
  private static let title: String = {
    let width = TreeFinding.Law.allCases.map(\.rawValue.count).max() ?? 0
    return "BROKEN" + String(repeating: " ", count: max(0, width - 6))
  }()

  /// A row of the table; the first one comes with the titles.
  func line(isFirst: Bool) -> String {
    var columns: [(String, Table.Alignment)] = [
      ("ACCOUNT", .left), ("FILE", .left), (Self.title, .left),
    ]
    if repair != nil { columns.append((TreeRepairs.Word.title, .left)) }
    var table = Table(columns: columns + [("RULE", .left)])
    table.add(
      cells: [account.description, file.description, rule] + (repair.map { [$0.rawValue] } ?? [])
        + [text])
    return isFirst ? table.text : String(table.text.drop { $0 != "\n" }.dropFirst())
  }

  var json: JSONValue {
    .object(
      [
        .init("account", .string(account.description)), .init("file", .string(file.description)),
        .init("rule", .string(rule)), .init("text", .string(text)),
      ] + (repair.map { [.init("repair", .string($0.rawValue))] } ?? []))
  }
}
