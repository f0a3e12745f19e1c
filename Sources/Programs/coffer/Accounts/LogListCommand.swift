import Accounts
import Acts
import Base
import CommandLine
import Logs

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Identifier?>.optional(
    "--after", "log", text: "start after this log", .uuid(of: "a log"))

  static let logList = Command(
    words: ["log", "list"],
    abstract: "List an account's message logs, oldest first",
    discussion: """
      Names and messages are ciphertext. SIZE is what the account is charged for the messages and the snapshot. HORIZON is the \
      latest timestamp that the log's snapshot stands for, if a device began an epoch with one.
      """,
    examples: ["coffer log list ada"],
    arguments: [CommonArguments.account],
    options: [limit, after],
    answers: logs.shape,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
        let all = try MessageLog.all(reader, of: account.id)
        let rest = invocation[after].map { last in all.drop { $0.id != last }.dropFirst() }
        let page = logs.page(invocation, by: \.id.description) { limit in
          Array((rest ?? all[...]).prefix(limit))
        }
        return logs.answer(page, at: now, notice: page.notice { Int64(all.count) })
      }
    })

  private static var logs: Listing<MessageLog> {
    Listing(
      "logs",
      [
        .text("log", "LOG") { $0.id.description }, .text("epoch") { $0.epoch.description },
        .integer("messages", "MESSAGES") { $0.messageCount },
        .bytes("bytes", "SIZE") { $0.chargedByteCount }, .time("created", "CREATED") { $0.created },
        .optionalTime("horizon", "HORIZON") { $0.horizon?.instant },
      ])
  }
}
