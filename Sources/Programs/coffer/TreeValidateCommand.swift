internal import Base
internal import Configuration
internal import JSON
internal import Storage
internal import Sync

extension Command {
  private static let account = Parameter<String?>.optional(
    "account", text: "its id or its username; or give --all", .text)
  private static let all = Parameter<Bool>.flag("--all", text: "every account")
  private static let repair = Parameter<Bool>.flag(
    "--repair",
    text: "repair what has exactly one right repair; with --yes, else show what would be")

  static let treeValidate = Command(
    words: ["tree", "validate"],
    abstract: "Holds the rows of accounts' trees against the rules that they must obey.",
    discussion: """
      Reads in short snapshots, beside the servers: parents, owners, cycles, heights and names, what is \
      deleted, where contents lie and how long they are, shares, links and views, the signatures of \
      every statement, and what is charged. Objects are looked for where COFFER_OBJECTS is given. Code 1 \
      where a rule is broken. What is found is printed at once, with --json at the end. Progress is on \
      stderr and ends in the account at hand: --after goes on behind it. SIGINT and SIGTERM end a run \
      over --all between two accounts: it sums up what it found, and says where to go on.

      --repair shows what can be repaired, and repairs it with --yes, each in a transaction of its own with an entry in the \
      audit log: what is charged (as coffer usage recount), heights (height), bytes of a record without content (content), a \
      folder of deletion on a record that is not deleted (deletion), shares of files that do not exist \
      (share_of_nothing) and views (view). All else is left and named: nothing tells what it was. REPAIR is done, \
      possible, none, or settled where the rule was obeyed again. Code 0 where nothing is left, 3 where \
      --yes would repair all that is.
      """,
    arguments: [account],
    options: [all, AccountWalk.after, repair, Act.yes, Act.remark],
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
      let named = invocation[account]
      guard (named == nil) == invocation[all] else {
        throw CommandFailure(.usage, "give one of <account> and --all")
      }
      guard named == nil || invocation[AccountWalk.after] == nil else {
        throw CommandFailure(.usage, "--after is for --all")
      }
      guard invocation[repair] || !invocation[Act.yes] && invocation[Act.remark] == nil else {
        throw CommandFailure(.usage, "--yes and --reason are for --repair")
      }
      if named == nil { Interruption.hold() }
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
  /// Nil where nothing is to be repaired.
  private let repairs: TreeRepairs?
  /// Whether what is found is printed at once.
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
          "what is recorded is what the files weigh; coffer usage recount corrects it",
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
        ? nil : "nothing was changed; --yes repairs \(counted(repairableCount, "row"))",
      whenWritten: interrupted?.end)
  }
}

/// A rule that a row breaks.
private struct Broken {
  private let account: Identifier
  private let rule: String
  private let file: Identifier
  private let text: String
  /// Nil where nothing is to be repaired.
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

  /// As wide as any rule's name: the rows are printed before the next one is known.
  private static let title: String = {
    let width = TreeFinding.Law.allCases.map(\.rawValue.count).max() ?? 0
    return "BROKEN" + String(repeating: " ", count: max(0, width - 6))
  }()

  /// A row of the table, with its titles before the first.
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
