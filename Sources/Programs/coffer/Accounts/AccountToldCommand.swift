import Accounts
import Acts
import Answers
import Base
import CommandLine
import Configuration
import Flows
import HTTPMessages
import JSON
import KnownStores
import Ledger
import Storage

extension Command {
  private static let limit = Parameter<Int>.limit()

  static let accountTold = Command(
    words: ["account", "told"],
    abstract: "List messages to an account about its plan and payments",
    discussion: """
      The list has three sources: notices to the app's server, problems of purchases and plan changes at \
      Stripe (such as a declined card), and refused claims of the last 30 days. The first lines are what \
      the customer could be told now. For a whole source use coffer notice list, coffer flow list or \
      coffer find.
      """,
    examples: ["coffer account told ada --limit 20"],
    arguments: [CommonArguments.account],
    options: [limit],
    answers: [
      "account": .text, "now": .list(.text),
      "told": .list(messages.item),
      "more": .bool,
    ],
    run: { invocation in
      let limit = invocation[limit]
      return try DatabaseSession.with(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (account, sentences, told) = try database.read { reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          let explanation = try EntitlementExplanation(
            of: account.id, at: now, catalogue: configuration.catalogue, stores: .known,
            reading: reader)
          return (
            account, explanation.sentences(usedByteCount: account.usageByteCount),
            try Message.all(of: account.id, at: now, limit: limit + 1, reading: reader)
          )
        }
        let shown = Array(told.prefix(limit))
        return Answer(
          text: ExplainedAccount.text(of: sentences) + "\n" + messages.text(shown, at: now),
          json: [
            "account": .string(account.id.description),
            "now": .array(sentences.map { .string($0) }), "told": .array(shown.map(messages.json)),
            "more": .bool(told.count > limit),
          ], notice: told.count > limit ? "the newest \(limit); --limit shows more" : nil)
      }
    })

  private static var messages: Listing<Message> {
    Listing(
      "told",
      [
        .time("at", "AT") { $0.at }, .text("kind") { $0.kind.rawValue },
        .text("about", "WHAT", .folded) { $0.about }, .text("text", "TOLD", .wrapped) { $0.text },
        .text("state", "STATE") { $0.state },
      ])
  }
}

/// A message that a customer received, or would have received.
private struct Message: Sendable {
  let at: Instant
  let kind: Kind
  /// The subject of the message, for people.
  let about: String
  let text: String
  let state: String

  enum Kind: String {
    case notice, problem
    case refusedClaim = "refused_claim"
  }

  static func all(
    of account: Identifier, at now: Instant, limit: Int, reading reader: Reader
  ) throws -> [Message] {
    let notices = try NoticeRow.all(
      of: account, onlyWaiting: false, before: nil, limit: limit, reading: reader)
    let flows = try FlowRows.failed(of: account, limit: limit, reading: reader)
    let claims = try RefusedClaims.all(of: account, at: now, reading: reader)
    let all =
      notices.map { Message($0) } + flows.compactMap { Message($0) } + claims.map { Message($0) }
    return Array(all.sorted { ($1.at, $1.about) < ($0.at, $0.about) }.prefix(limit))
  }

  private init(_ notice: NoticeRow) {
    let body = try? JSON.parse(Array(notice.body.utf8))
    func word(_ name: String) -> String? { body?[name].string }
    var text = [word("state"), word("plan").map { "plan \($0)" }, word("reason")]
      .compactMap { $0 }.joined(separator: ", ")
    if let end = word("access_ends") { text += ", until \(end)" }
    if let detail = body?["problem"]["detail"].string { text += ": \(detail)" }
    at = notice.made
    kind = .notice
    about = "notice \(notice.number)"
    self.text = text
    state =
      notice.state + (notice.delivered.map { " \($0)" } ?? notice.lastError.map { ": \($0)" } ?? "")
  }

  private init?(_ flow: Flow) {
    guard let problem = flow.problem else { return nil }
    at = flow.closed ?? flow.stepSince
    kind = .problem
    about = FlowText.asked(flow)
    text = "\(problem.code.rawValue): \(problem.problem.detail)"
    state = "answered"
  }

  private init(_ claim: RefusedClaim) {
    at = claim.refused
    kind = .refusedClaim
    about = "claim of \(claim.subscription)"
    text = "purchase_owned: another account owns or owned it"
    state = "answered"
  }
}
