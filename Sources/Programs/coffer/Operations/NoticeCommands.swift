import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Ledger
import Storage

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let account = Parameter<String?>.optional(
    "--account", "account", text: "only this account (id or username)", .text)
  private static let waiting = Parameter<Bool>.flag(
    "--waiting", text: "only notices not delivered yet")
  private static let after = Parameter<String?>.optional(
    "--after", "notice", text: "start after this row (see the previous page's last line)", .text)
  private static let since = Parameter<StatedTime?>.optional(
    "--since", "time",
    text: "notices since this time in UTC: 2026-11-01T10:00:00Z, 2026-11-01 or 2h", .time)

  static let noticeList = Command(
    words: ["notice", "list"],
    abstract: "List notices to the app's server, newest first",
    discussion: """
      A notice has the body of GET /v1/subscription. It is retried until it arrives, at most ten times in \
      three days (COFFER_NOTICE_URL; see docs/notices.md), and kept for a month. STATE is waiting, arrived \
      or failed. ATTEMPTS counts the requests.
      """,
    examples: ["coffer notice list --waiting"],
    options: [limit, account, waiting, after],
    answers: notices.shape.adding([.init("receiver", .orNull(["disabled": .orNull(.time)]))]),
    run: { invocation in
      try DatabaseSession.read(invocation, owning: .billing) { reader, now in
        let owner = try invocation[account].map { try DatabaseSession.account(reader, $0).id }
        let last = try invocation[after].map { try listed($0, reader) }
        let page = try notices.page(invocation, by: { "\($0.account)/\($0.id)" }) {
          try NoticeRow.all(
            of: owner, onlyWaiting: invocation[waiting], before: last, limit: $0, reading: reader)
        }
        let more = try page.notice(countedTo: 10_000) {
          try NoticeRow.count(
            of: owner, onlyWaiting: invocation[waiting], upTo: $0, reading: reader)
        }
        let receiver = try Notices.receiver(reading: reader)
        let state = receiver.map { receiver -> JSONValue in
          ["disabled": receiver.disabled.map { .string($0.description) } ?? .null]
        }
        return notices.answer(page, at: now, notice: more)
          .adding([.init("receiver", state ?? .null)], heading: headline(receiver))
      }
    })

  static let noticeReplay = Command(
    words: ["notice", "replay"],
    abstract: "Resend notices to the app's server",
    discussion: """
      Resends every notice since a time, delivered or not, with its original id and body. Notices of one \
      account keep their order. A notice is kept for a month.
      """,
    examples: ["coffer notice replay --since 2h --reason \"the app lost some\" --yes"],
    options: [since, account] + Act.options,
    answers: Act.answers(["notices": .integer]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        guard try database.read({ try Notices.receiver(reading: $0) }) != nil else {
          throw CommandFailure(
            .refused, "no notices are sent: coffer-billing runs without COFFER_NOTICE_URL")
        }
        let owner = try database.read { reader in
          try invocation[account].map { try DatabaseSession.account(reader, $0).id }
        }
        guard let moment = invocation[since]?.moment(at: now) else {
          throw CommandFailure(.usage, "notice replay needs --since <time>")
        }
        return try Act(invocation, on: database).whenConfirmed { transaction, now in
          let count = try NoticeRow.replay(since: moment, of: owner, at: now, in: transaction)
          return Act.Effect(
            subject: "notices since \(moment)", account: owner, before: .object([]),
            after: ["notices": .integer(count)], text: "\(count) notices are sent again\n",
            members: [.init("notices", .integer(count))])
        }
      }
    })

  static let noticeEnable = Command(
    words: ["notice", "enable"],
    abstract: "Send notices again after the app server answered 410",
    examples: ["coffer notice enable --reason \"the app is back\" --yes"],
    options: Act.options,
    answers: Act.answers(["enabled": .bool]),
    run: { invocation in
      try Act.whenConfirmed(invocation, owning: .billing) { transaction, _ in
        guard let disabled = try Notices.receiver(reading: transaction)?.disabled else {
          throw CommandFailure(.refused, "notices are not disabled")
        }
        try Notices.setDisabled(nil, in: transaction)
        return Act.Effect(
          subject: "notices", before: ["disabled": .string(disabled.description)],
          after: ["disabled": .null], text: "notices are sent again within the hour\n",
          members: [.init("enabled", .bool(true))])
      }
    })

  /// The notice that a page ended with: `account/id`.
  private static func listed(_ name: String, _ reader: Reader) throws -> NoticeRow {
    let parts = name.split(separator: "/").map(String.init)
    guard parts.count == 2, let account = Identifier(parts[0]) else {
      throw CommandFailure(
        .usage, "--after takes <account>/<notice>: see the previous page's last line")
    }
    guard let notice = try NoticeRow.find(parts[1], of: account, reading: reader) else {
      throw CommandFailure(.refused, "there is no notice \(parts[1]) of the account \(account)")
    }
    return notice
  }

  private static func headline(_ receiver: Notices.Receiver?) -> String {
    guard let receiver else { return "no notices are sent: COFFER_NOTICE_URL is not set\n\n" }
    return receiver.disabled.map {
      "disabled since \($0): the receiver answered 410; coffer notice enable\n\n"
    } ?? ""
  }

  private static var notices: Listing<NoticeRow> {
    Listing(
      "notices",
      [
        .time("made", "MADE") { $0.made }, .text("account", "ACCOUNT") { $0.account.description },
        .integer("number", "NUMBER") { $0.number }, .text("id") { $0.id },
        .text("state", "STATE") { $0.state }, .integer("attempts", "ATTEMPTS") { $0.attempts },
        .optionalTime("due", "DUE") { $0.due }, .optionalTime("delivered") { $0.delivered },
        .optionalText("last_error", "LAST ERROR") { $0.lastError },
      ], tint: { $0.state == "failed" ? .bad : nil })
  }
}

extension NoticeRow {
  var state: String {
    due != nil ? "waiting" : delivered != nil ? "arrived" : "failed"
  }
}
