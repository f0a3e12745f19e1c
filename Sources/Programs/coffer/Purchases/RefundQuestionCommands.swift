internal import Accounts
internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Ledger
internal import Storage
internal import Subscriptions
internal import Sync
internal import Sync

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let account = Parameter<String?>.optional(
    "--account", "account", text: "only this account (id or username)",
    .text)
  private static let after = Parameter<String?>.optional(
    "--after", "payment", text: "start after this row (see the previous page's last line)", .text)

  static let refundQuestions = Command(
    words: ["refund", "questions"],
    abstract: "List the stores' refund questions and our answers",
    discussion: """
      Before it decides on a refund, the App Store asks (CONSUMPTION_REQUEST, twelve hours) and Google \
      Play asks (pending refund review, one day). COFFER_REFUND_ANSWERS sets the answer. Nothing is \
      reported about customers who did not consent (PUT /v1/refund-consent). The latest question of each \
      payment is listed.
      """,
    examples: ["coffer refund questions --account ada"],
    options: [limit, account, after],
    answers: .page(
      "questions",
      of: [
        "payment": .text, "asked": .time, "until": .time, "account": .orNull(.text),
        "answered": .orNull(.time), "answer": .orNull(.text),
      ]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        let page: ListPage<RefundQuestionRow> = try database.read { reader in
          let owner = try invocation[account].map { try DatabaseSession.account(reader, $0).id }
          let last = try invocation[after].map { text in
            guard let payment = ObjectKey(text),
              let row = try RefundQuestionRow.find(payment, reading: reader)
            else { throw CommandFailure(.refused, "nothing was asked of \(text)") }
            return row
          }
          let found = try RefundQuestionRow.all(
            of: owner, before: last, limit: invocation[limit] + 1, reading: reader)
          return ListPage(found, limit: invocation[limit], cursor: \.payment.description)
        }
        var table = Table(("ASKED", .left), ("PAYMENT", .left), ("UNTIL", .left), ("TOLD", .left))
        for row in page.rows {
          table.add(
            Terminal.time(row.asked, now: now), row.payment.description,
            Terminal.time(row.until, now: now), row.answer ?? "not yet")
        }
        return Answer(
          text: table.text, json: page.json("questions", page.rows.map { json($0) }),
          notice: page.notice(of: "questions"))
      }
    })

  private static func json(_ row: RefundQuestionRow) -> JSONValue {
    [
      "payment": .string(row.payment.description), "asked": .string(row.asked.description),
      "until": .string(row.until.description),
      "account": row.account.map { .string($0.description) } ?? .null,
      "answered": row.answered.map { .string($0.description) } ?? .null,
      "answer": row.answer.map { .string($0) } ?? .null,
    ]
  }
}
