import Accounts
import Acts
import Base
import CommandLine
import Logs

extension Command {
  private static let log = Parameter<Identifier>.log

  static let logShow = Command(
    words: ["log", "show"],
    abstract: "Show a log, its snapshot, kept epoch and shares",
    discussion: """
      A snapshot is what new devices begin with; it has all messages up to a number. If a device began another \
      epoch by mistake, coffer log restore takes the kept one back.
      """,
    examples: ["coffer log show ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d"],
    arguments: [CommonArguments.account, log],
    answers: shown.item,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
        let found = try MessageLog.find(reader, invocation[log], for: account.id)
        let kept = try LogRestore.find(reader, of: found.id, now: now)
        let budget = try BudgetOfLog.titles(reader, of: account.id)[found.id]
        let shares = try LogShare.all(reader, of: found.id)
        return Answer(
          text: text(found, kept, budget, shares), json: shown.json((found, kept, budget, shares)))
      }
    })

  private static func text(
    _ log: MessageLog, _ kept: LogRestore.Kept?, _ budget: BudgetOfLog.Title?,
    _ shares: [LogShare]
  ) -> String {
    let snapshot = log.snapshot.map { snapshot in
      "version \(snapshot.version), \(ByteCount.text(snapshot.byteCount)), with "
        + "\(snapshot.number(in: log.epoch)) of the messages"
    }
    return """
      log       \(log.id)
      epoch     \(log.epoch)
      created   \(log.created)
      messages  \(log.messageCount)
      size      \(log.byteCount) bytes (\(ByteCount.text(log.byteCount)))
      horizon   \(log.horizon?.description ?? "-")
      snapshot  \(snapshot ?? "-")
      kept      \(kept?.text ?? "-")
      budget    \(budget?.text ?? "-")
      shares    \(shares.isEmpty ? "-" : shares.map(\.text).joined(separator: "\n          "))

      """
  }

  private typealias Shown = (
    log: MessageLog, kept: LogRestore.Kept?, budget: BudgetOfLog.Title?, shares: [LogShare]
  )

  private static var shown: Listing<Shown> {
    let snapshot = Listing<(snapshot: LogSnapshot, epoch: Identifier)>([
      .integer("version") { $0.snapshot.version }, .integer("bytes") { $0.snapshot.byteCount },
      .integer("messages") { $0.snapshot.number(in: $0.epoch) },
    ])
    let kept = Listing<LogRestore.Kept>([
      .text("epoch") { $0.epoch.description }, .integer("messages") { $0.messageCount },
      .integer("bytes") { $0.byteCount }, .time("until") { $0.end },
    ])
    let share = Listing<LogShare>([
      .text("account") { $0.account.description }, .text("mode") { $0.mode.rawValue },
      .text("state") { $0.state.rawValue }, .time("granted") { $0.granted },
    ])
    return Listing([
      .text("log") { $0.log.id.description }, .text("epoch") { $0.log.epoch.description },
      .time("created") { $0.log.created }, .integer("messages") { $0.log.messageCount },
      .integer("bytes") { $0.log.byteCount },
      .optionalText("horizon") { $0.log.horizon?.description },
      .optionalObject("snapshot", snapshot) { shown in
        shown.log.snapshot.map { ($0, shown.log.epoch) }
      }, .optionalObject("kept", kept) { $0.kept },
      .optionalObject("budget", BudgetOfLog.Title.listing) { $0.budget },
      .list("shares", share) { $0.shares },
    ])
  }
}
