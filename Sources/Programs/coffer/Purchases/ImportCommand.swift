internal import Base
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage

extension Command {
  private static let purchaseList = Parameter<String>.required(
    "csv",
    text: "CSV file: header account,store,id, one purchase per line; - is stdin",
    .path)
  private static let failedRows = Parameter<String?>.optional(
    "--report", "path",
    text:
      "new file for failed rows and reasons; fix them and import the file",
    .path)
  private static let wait = Parameter<Int>.optional(
    "--wait", "seconds",
    text: { "stop after this long without progress (default: \($0))" },
    .number(in: 1...86_400), otherwise: 60)

  static let importPurchases = Command(
    words: ["import"],
    abstract: "Import purchases that accounts made before Coffer",
    discussion: """
      The list is CSV (RFC 4180). Each row names an account (id or username), a store (stripe, apple, \
      google or btcpay) and a subscription, transaction or purchase token of that store. Without --yes the \
      command checks the whole list, asks no store and changes nothing.

      With --yes, a running coffer-billing reads each unknown purchase, after reads for customers, and \
      assigns it to its account. A purchase that another account owns stays with that account. If a run is \
      interrupted, run it again: finished rows cost nothing. The exit code is 1 if rows failed, and 69 if \
      some are still to be read.
      """,
    examples: [
      "coffer import purchases.csv",
      "coffer import purchases.csv --reason \"move from RevenueCat\" --yes",
    ],
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
