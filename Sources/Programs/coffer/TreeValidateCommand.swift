internal import Base
internal import Configuration
internal import JSON
internal import Storage
internal import Sync

extension Command {
  private static let account = Parameter<String?>.optional(
    "account", text: "its id or its username; or give --all", .text)
  private static let all = Parameter<Bool>.flag("--all", text: "every account")

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
      """,
    arguments: [account],
    options: [all, AccountWalk.after],
    answers: .object([
      .init("accounts", .integer), .init("rows", .integer), .init("broken", .integer),
      .init("listed", .list(["account": .text, "file": .text, "rule": .text, "text": .text])),
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
      if named == nil { Interruption.hold() }
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        var round = ValidationRound(
          database, try configuration.objectsDirectory.map { try ObjectStore(existing: $0) },
          Recount(database, catalogue: configuration.catalogue),
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
  /// Whether what is found is printed at once.
  private let prints: Bool
  private var accountCount = 0
  private var rowCount: Int64 = 0
  private var brokenCount = 0
  private var listed: [Broken] = []

  private static let listedCountMax = 1000

  init(
    _ database: Database, _ objects: ObjectStore?, _ recount: Recount, printing prints: Bool
  ) {
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
          Broken(account, finding.law.rawValue, finding.subject, finding.law.text), progress)
      }
      each(audit.checkedCount)
    }
    rowCount += audit.checkedCount
    if let usage = try recount.audit(account), !usage.isRight {
      try note(
        Broken(
          account, "usage", account,
          "what is recorded is what the files weigh; coffer usage recount corrects it"), progress)
    }
  }

  private mutating func note(_ broken: Broken, _ progress: Progress) throws {
    brokenCount += 1
    guard listed.count < Self.listedCountMax else { return }
    listed.append(broken)
    guard prints else { return }
    progress.makeRoom()
    try StandardOutput.writeOn(broken.line(isFirst: listed.count == 1))
  }

  func answer(_ interrupted: AccountWalk.Interrupted?) -> Answer {
    let accounts = counted(accountCount, "account")
    return Answer(
      code: brokenCount == 0 ? .ok : .refused,
      text: (listed.isEmpty ? "" : "\n")
        + "\(accounts), \(rowCount) rows, \(brokenCount) broken rules\n",
      json: .object(
        [
          .init("accounts", .integer(Int64(accountCount))), .init("rows", .integer(rowCount)),
          .init("broken", .integer(Int64(brokenCount))),
          .init("listed", .array(listed.map(\.json))),
        ] + (interrupted.map { [$0.json] } ?? [])),
      whenWritten: interrupted?.end)
  }
}

/// A rule that a row breaks.
private struct Broken {
  private let account: Identifier
  private let rule: String
  private let file: Identifier
  private let text: String

  init(_ account: Identifier, _ rule: String, _ file: Identifier, _ text: String) {
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
    var table = Table(("ACCOUNT", .left), ("FILE", .left), (Self.title, .left), ("RULE", .left))
    table.add(account.description, file.description, rule, text)
    return isFirst ? table.text : String(table.text.drop { $0 != "\n" }.dropFirst())
  }

  var json: JSONValue {
    [
      "account": .string(account.description), "file": .string(file.description),
      "rule": .string(rule), "text": .string(text),
    ]
  }
}
