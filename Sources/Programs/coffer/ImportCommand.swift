internal import Base
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage

extension Command {
  private static let purchaseList = Parameter<String>.required(
    "csv",
    text: "the list: a first line account,store,id, then a purchase a line; - is standard input",
    .path)
  private static let failedRows = Parameter<String?>.optional(
    "--report", "path",
    text:
      "a new file of the rows that came to nothing, and why; with them mended, a list to import",
    .path)
  private static let wait = Parameter<Int>.optional(
    "--wait", "seconds",
    text: { "how long nothing may be read before it ends, \($0) without this option" },
    .number(in: 1...86_400), otherwise: 60)

  static let importPurchases = Command(
    words: ["import"],
    abstract:
      "Gives accounts the purchases that they made before Coffer, each read from its store.",
    discussion: """
      The list is CSV (RFC 4180). A row names an account by its id or username, a store (stripe, \
      apple, google, btcpay), and a number of the store's: a subscription, a transaction, a purchase \
      token. Without --yes the whole list is checked, and nothing is changed or asked of a store. With it each \
      purchase that is not known is read by a running coffer-billing, behind whatever is read for \
      customers, and is its account's once its store has told of it. What another account owns stays \
      there. Done rows cost nothing: a run that was interrupted is repeated. Code 1 where rows came to \
      nothing, 69 where some are still to be read.
      """,
    arguments: [purchaseList],
    options: [failedRows, wait, Act.yes, Act.remark],
    answers: [
      "rows": .integer, "owned": .integer, "given": .integer, "to_read": .integer,
      "failed": .integer, "done": .bool,
      "problems": .list(["line": .integer, "account": .text, "store": .text, "problem": .text]),
    ],
    run: { invocation in
      let list = try ImportFile(path: invocation[purchaseList])
      if let path = invocation[failedRows] { try OutputFile.requireNew(path) }
      let (outcome, isAgreed) = try DatabaseSession.with(invocation, owning: .billing) {
        database, configuration in
        let ledger = Ledger(stores: .known, configuration)
        try database.read { try ledger.requireServersRules(reading: $0) }
        let steps = ImportSteps(
          ledger: ledger, sealing: configuration.sealingKeys,
          act: try Act(invocation, on: database), reason: invocation[Act.remark] ?? "")
        var run = PurchaseImport(list, database, configuration.clock, steps)
        try run.check()
        let isAgreed = invocation[Act.yes] || isWanted(run, invocation)
        if isAgreed { try run.perform(waiting: .seconds(Int64(invocation[wait]))) }
        return (run, isAgreed)
      }
      if let path = invocation[failedRows] {
        try OutputFile.write(Array(outcome.report.utf8), to: path)
      }
      return outcome.answer(isDone: isAgreed)
    })

  /// Asks whoever sits there, having shown what would be done.
  private static func isWanted(_ run: PurchaseImport, _ invocation: Invocation) -> Bool {
    guard !invocation[CommonOptions.json], Terminal.isThere else { return false }
    print(run.answer(isDone: false).text, terminator: "")
    return Terminal.agrees("do it?")
  }
}

extension PurchaseImport {
  private static let listedCountMax = 20

  /// The rows that came to nothing, and those that wait still.
  var report: String {
    var report = ImportReport()
    for (row, problem) in problems { report.add(row, problem) }
    return report.text
  }

  func answer(isDone: Bool) -> Answer {
    let code: ExitCode =
      if !isDone { .unconfirmed } else if counts.toRead > 0 { .unavailable } else {
        counts.failed > 0 ? .refused : .ok
      }
    var table = Table(("ROWS", .right), ("", .left))
    table.add(String(counts.owned), "are their accounts' already")
    table.add(String(counts.given), isDone ? "were given" : "are known and would be given")
    table.add(String(counts.toRead), isDone ? "are still to be read" : "would be read first")
    table.add(String(counts.failed), isDone ? "came to nothing" : "would come to nothing")
    var list = Table(("LINE", .right), ("ACCOUNT", .left), ("STORE", .left), ("PROBLEM", .left))
    for (row, problem) in problems.prefix(Self.listedCountMax) {
      list.add(String(row.line), row.account, row.store, problem)
    }
    let rest = problems.count - min(problems.count, Self.listedCountMax)
    let text =
      table.text + (list.isEmpty ? "" : "\n" + list.text)
      + (rest > 0 ? "and \(counted(rest, "row")) more; --report writes them all\n" : "")
    return Answer(
      code: code, text: text,
      json: [
        "rows": .integer(Int64(counts.rows)), "owned": .integer(Int64(counts.owned)),
        "given": .integer(Int64(counts.given)), "to_read": .integer(Int64(counts.toRead)),
        "failed": .integer(Int64(counts.failed)), "done": .bool(isDone),
        "problems": .array(
          problems.map { row, problem in
            [
              "line": .integer(Int64(row.line)), "account": .string(row.account),
              "store": .string(row.store), "problem": .string(problem),
            ]
          }),
      ], notice: notice(isDone: isDone))
  }

  private func notice(isDone: Bool) -> String? {
    if !isDone { return "nothing was changed; --yes does it" }
    guard counts.toRead > 0 else { return nil }
    return "no answer came for a while; coffer-billing reads while it runs, and the same command "
      + "goes on"
  }
}
