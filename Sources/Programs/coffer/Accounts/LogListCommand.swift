import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Logs

extension Command {
  private struct Listed {
    let log: MessageLog
    let budget: BudgetOfLog.Title?
  }

  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Identifier?>.optional(
    "--after", "log", text: "start after this log", .uuid(of: "a log"))

  static let logList = Command(
    words: ["log", "list"],
    abstract: "List an account's message logs, oldest first",
    discussion: """
      Names and messages are ciphertext. SIZE is what the account is charged for the messages and the snapshot. \
      HORIZON is the latest timestamp that the log's snapshot stands for, if a device began an epoch with one. A \
      budget of Actual's apps has its id under BUDGET, and the name that they show under NAME.
      """,
    examples: ["coffer log list ada"],
    arguments: [CommonArguments.account],
    options: [limit, after],
    answers: logs.shape,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
        let budgets = try BudgetOfLog.titles(reader, of: account.id)
        let all = try MessageLog.all(reader, of: account.id).map { log in
          Listed(log: log, budget: budgets[log.id])
        }
        let rest = try invocation[after].map { last in
          guard let index = all.firstIndex(where: { $0.log.id == last }) else {
            throw CommandFailure(.refused, "account \(account.id) has no log \(last)")
          }
          return all[(index + 1)...]
        }
        let page = logs.page(invocation, by: \.log.id.description) { limit in
          Array((rest ?? all[...]).prefix(limit))
        }
        return logs.answer(page, at: now, notice: page.notice { Int64(all.count) })
      }
    })

  private static var logs: Listing<Listed> {
    Listing(
      "logs",
      [
        .text("log", "LOG") { $0.log.id.description }, .text("epoch") { $0.log.epoch.description },
        .integer("messages", "MESSAGES") { $0.log.messageCount },
        .bytes("bytes", "SIZE") { $0.log.chargedByteCount },
        .time("created", "CREATED") { $0.log.created },
        .optionalTime("horizon", "HORIZON") { $0.log.horizon?.instant },
        .optionalObject("budget", BudgetOfLog.Title.listing) { $0.budget },
        .shown("BUDGET") { row, _ in row.budget?.file ?? "-" },
        .shown("NAME") { row, _ in row.budget?.name ?? "-" },
      ])
  }
}
