import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Ledger
import Storage
import Subscriptions

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let account = Parameter<String?>.optional(
    "--account", "account", text: "only this account (id or username)", .text)
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
    answers: questions.shape,
    run: { invocation in
      try DatabaseSession.read(invocation, owning: .billing) { reader, now in
        let owner = try invocation[account].map { try DatabaseSession.account(reader, $0).id }
        let last = try invocation[after].map { text in
          guard let payment = ObjectKey(text),
            let row = try RefundQuestionRow.find(payment, reading: reader)
          else { throw CommandFailure(.refused, "there is no refund question about \(text)") }
          return row
        }
        let page = try questions.page(invocation, by: \.payment.description) {
          try RefundQuestionRow.all(of: owner, before: last, limit: $0, reading: reader)
        }
        return questions.answer(page, at: now, notice: page.notice)
      }
    })

  private static var questions: Listing<RefundQuestionRow> {
    Listing(
      "questions",
      [
        .time("asked", "ASKED") { $0.asked },
        .text("payment", "PAYMENT") { $0.payment.description },
        .time("until", "UNTIL") { $0.until }, .optionalText("account") { $0.account?.description },
        .optionalTime("answered") { $0.answered },
        .optionalText("answer", "TOLD", absent: "not yet") { $0.answer },
      ])
  }
}
