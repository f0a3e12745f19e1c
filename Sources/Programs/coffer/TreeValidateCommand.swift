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
      where a rule is broken. Progress is on stderr and ends in the account at hand: --after goes on \
      behind it.
      """,
    arguments: [account],
    options: [all, AccountWalk.after],
    answers: [
      "accounts": .integer, "rows": .integer, "broken": .integer,
      "listed": .list(["account": .text, "file": .text, "rule": .text, "text": .text]),
    ],
    run: { invocation in
      let named = invocation[account]
      guard (named == nil) == invocation[all] else {
        throw CommandFailure(.usage, "give one of <account> and --all")
      }
      guard named == nil || invocation[AccountWalk.after] == nil else {
        throw CommandFailure(.usage, "--after is for --all")
      }
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        var round = ValidationRound(
          database, try configuration.objectsDirectory.map { try ObjectStore(existing: $0) },
          Recount(database, catalogue: configuration.catalogue))
        if let named {
          let account = try database.read { try DatabaseSession.account($0, named).id }
          let progress = Progress("validating", .count(of: "rows"))
          try round.take(account) { progress.done = $0 }
        } else {
          try AccountWalk.each("validating", of: database, after: invocation[AccountWalk.after]) {
            try round.take($0)
          }
        }
        return round.answer
      }
    })
}

/// One run over one account or all of them, and the rules that it found broken.
private struct ValidationRound {
  private let database: Database
  private let objects: ObjectStore?
  private let recount: Recount
  private var accountCount = 0
  private var rowCount: Int64 = 0
  private var brokenCount = 0
  private var listed: [(account: Identifier, law: String, subject: Identifier, text: String)] = []

  private static let listedCountMax = 1000

  init(_ database: Database, _ objects: ObjectStore?, _ recount: Recount) {
    self.database = database
    self.objects = objects
    self.recount = recount
  }

  mutating func take(
    _ account: Identifier, each: (_ rows: Int64) -> Void = { _ in }
  ) throws {
    accountCount += 1
    var audit = TreeAudit(account, objects: objects)
    while !audit.isRead {
      for finding in try database.read({ try audit.readSlice($0) }) {
        note(account, finding.law.rawValue, finding.subject, finding.law.text)
      }
      each(audit.checkedCount)
    }
    rowCount += audit.checkedCount
    if let usage = try recount.audit(account), !usage.isRight {
      note(
        account, "usage", account,
        "what is recorded is what the files weigh; coffer usage recount corrects it")
    }
  }

  private mutating func note(
    _ account: Identifier, _ law: String, _ subject: Identifier, _ text: String
  ) {
    brokenCount += 1
    if listed.count < Self.listedCountMax { listed.append((account, law, subject, text)) }
  }

  var answer: Answer {
    var table = Table(("ACCOUNT", .left), ("FILE", .left), ("BROKEN", .left), ("RULE", .left))
    for line in listed {
      table.add(line.account.description, line.subject.description, line.law, line.text)
    }
    let accounts = counted(accountCount, "account")
    return Answer(
      code: brokenCount == 0 ? .ok : .refused,
      text: (listed.isEmpty ? "" : table.text + "\n")
        + "\(accounts), \(rowCount) rows, \(brokenCount) broken rules\n",
      json: [
        "accounts": .integer(Int64(accountCount)), "rows": .integer(rowCount),
        "broken": .integer(Int64(brokenCount)),
        "listed": .array(
          listed.map { line in
            [
              "account": .string(line.account.description),
              "file": .string(line.subject.description), "rule": .string(line.law),
              "text": .string(line.text),
            ]
          }),
      ])
  }
}
