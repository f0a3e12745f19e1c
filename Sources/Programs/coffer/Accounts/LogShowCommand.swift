import Accounts
import Acts
import Base
import CommandLine
import JSON
import Logs
import Storage

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
    answers: [
      "log": .text, "epoch": .text, "created": .time, "messages": .integer, "bytes": .integer,
      "horizon": .orNull(.text),
      "snapshot": .orNull(["version": .integer, "bytes": .integer, "messages": .integer]),
      "kept": .orNull([
        "epoch": .text, "messages": .integer, "bytes": .integer, "until": .time,
      ]),
      "shares": .list([
        "account": .text, "mode": .text, "state": .text, "granted": .time,
      ]),
    ],
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
        let found = try MessageLog.find(reader, invocation[log], for: account.id)
        let kept = try LogRestore.find(reader, of: found.id, now: now)
        let shares = try LogShare.all(reader, of: found.id)
        return Answer(text: text(found, kept, shares), json: json(found, kept, shares))
      }
    })

  private static func text(
    _ log: MessageLog, _ kept: LogRestore.Kept?, _ shares: [LogShare]
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
      shares    \(shares.isEmpty ? "-" : shares.map(\.text).joined(separator: "\n          "))

      """
  }

  private static func json(
    _ log: MessageLog, _ kept: LogRestore.Kept?, _ shares: [LogShare]
  ) -> JSONValue {
    [
      "log": .string(log.id.description), "epoch": .string(log.epoch.description),
      "created": .moment(log.created), "messages": .integer(log.messageCount),
      "bytes": .integer(log.byteCount),
      "horizon": log.horizon.map { .string($0.description) } ?? .null,
      "snapshot": log.snapshot.map { snapshot in
        [
          "version": .integer(snapshot.version), "bytes": .integer(snapshot.byteCount),
          "messages": .integer(snapshot.number(in: log.epoch)),
        ]
      } ?? .null,
      "kept": kept.map { kept in
        [
          "epoch": .string(kept.epoch.description), "messages": .integer(kept.messageCount),
          "bytes": .integer(kept.byteCount), "until": .moment(kept.end),
        ]
      } ?? .null,
      "shares": .array(
        shares.map { share in
          [
            "account": .string(share.account.description), "mode": .string(share.mode.rawValue),
            "state": .string(share.state.rawValue), "granted": .moment(share.granted),
          ]
        }),
    ]
  }
}
