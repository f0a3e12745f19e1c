import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Crypto
import Importing
import JSON
import KnownStores
import Ledger
import Storage
import Subscriptions

extension Command {
  private static let purchaseList = Parameter<String>.required(
    "csv", text: "CSV file: header account,store,id, one purchase per line; - is stdin", .path)
  private static let failedRows = Parameter<String?>.optional(
    "--report", "path", text: "new file for failed rows and reasons; fix them and import the file",
    .path)
  private static let wait = Parameter<Int>.optional(
    "--wait", "seconds", text: { "stop after this long without progress (default: \($0))" },
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
    answers: PurchaseImport.listing.item,
    run: { invocation in
      let list = try importFile(at: invocation[purchaseList])
      if let path = invocation[failedRows] { try OutputFile.requireNew(path) }
      let (outcome, isAgreed) = try DatabaseSession.with(invocation, owning: .billing) {
        database, configuration in
        let ledger = Ledger(stores: .known, configuration)
        try database.read { try ledger.requireServersRules(reading: $0) }
        let sealing = configuration.sealingKeys
        let steps = ImportSteps(
          ledger: ledger, isSealed: sealing != nil,
          ImportSteps.Act(
            try Act(invocation, on: database), because: invocation[Act.remark] ?? "", sealing))
        var run = PurchaseImport(list, database, configuration.clock, steps)
        let checked = Progress("checking", .count(of: "rows"), of: Int64(list.rows.count))
        try run.check { checked.done += Int64($0) }
        let isAgreed = invocation[Act.yes] || isWanted(run, invocation)
        if isAgreed {
          let done = Progress("importing", .count(of: "rows"), of: Int64(run.claimCount))
          try run.perform(waiting: .seconds(Int64(invocation[wait]))) { done.done += Int64($0) }
        }
        return (run, isAgreed)
      }
      if let path = invocation[failedRows] {
        try OutputFile.write(Array(outcome.report.utf8), to: path)
      }
      return outcome.answer(isDone: isAgreed)
    })

  private static func importFile(at path: String) throws(CommandFailure) -> ImportFile {
    let bytes = try InputFile.bytes(at: path)
    do throws(ImportProblem) { return try ImportFile(bytes) } catch {
      throw CommandFailure(.refused, Printable.text("\(path): \(error.text)"))
    }
  }

  /// Shows what would be done, and asks the person at the terminal.
  private static func isWanted(_ run: PurchaseImport, _ invocation: Invocation) -> Bool {
    guard !invocation[CommonOptions.json], Terminal.isThere else { return false }
    print(run.answer(isDone: false).text, terminator: "")
    return Terminal.agrees("do it?")
  }
}

extension PurchaseImport {
  private static let listedCountMax = 20

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
    let listed = Array(problems.prefix(Self.listedCountMax))
    let rest = problems.count - listed.count
    let text =
      table.text + (listed.isEmpty ? "" : "\n" + Self.problem.text(listed, at: .distantPast))
      + (rest > 0 ? "and \(counted(rest, "row")) more; --report writes them all\n" : "")
    return Answer(
      code: code, text: text,
      json: Self.listing.json((self, isDone)), notice: notice(isDone: isDone))
  }

  fileprivate static var listing: Listing<(run: PurchaseImport, isDone: Bool)> {
    Listing([
      .integer("rows") { Int64($0.run.counts.rows) },
      .integer("owned") { Int64($0.run.counts.owned) },
      .integer("given") { Int64($0.run.counts.given) },
      .integer("to_read") { Int64($0.run.counts.toRead) },
      .integer("failed") { Int64($0.run.counts.failed) }, .bool("done") { $0.isDone },
      .list("problems", problem) { $0.run.problems },
    ])
  }

  private static var problem: Listing<(row: ImportFile.Row, problem: String)> {
    Listing([
      .integer("line", "LINE") { Int64($0.row.line) },
      .text("account", "ACCOUNT") { $0.row.account },
      .text("store", "STORE") { $0.row.store }, .text("problem", "PROBLEM") { $0.problem },
    ])
  }

  private func notice(isDone: Bool) -> String? {
    if !isDone { return "no changes made; --yes applies them" }
    guard counts.toRead > 0 else { return nil }
    return "no answer came for a while; coffer-billing reads while it runs, and the same command "
      + "continues"
  }
}

extension ImportSteps.Act {
  fileprivate init(_ act: Act, because reason: String, _ sealing: SealingKeys?) {
    self.init(
      account: { name, reader in
        do { return try DatabaseSession.account(reader, name).id } catch let failure
          as CommandFailure
        {
          throw ImportProblem(failure.text)
        }
      },
      payload: { purchase, transaction in
        try purchase.payload(sealing, reading: transaction)
      },
      note: { key, account, now, transaction in
        let effect = Act.Effect(
          subject: key.description, account: account, before: ["owner": .null],
          after: ["claimed_by": .string(account.description)])
        try act.note(effect, because: reason, at: now, in: transaction)
      })
  }
}
