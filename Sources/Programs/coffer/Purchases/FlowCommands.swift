import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Flows
import HTTPMessages
import JSON
import Jobs
import Storage
import Tiers

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let account = Parameter<String?>.optional(
    "--account", "account", text: "all flows of this account, also finished ones", .text)
  private static let after = Parameter<String?>.optional(
    "--after", "flow", text: "start after this flow (see the previous page's last line)", .text)
  private static let flowID = Parameter<String>.required(
    "flow", text: "flow id, as in coffer flow list", .text)

  static let flowList = Command(
    words: ["flow", "list"],
    abstract: "List open billing operations of accounts at Stripe",
    discussion: """
      A flow is one operation that an account requested: buy, change, cancel or pay. It runs in steps, \
      each done once even after a crash, and waits for Stripe or (requires_action) for the client. Flows \
      that have waited longest come first. With --account, all flows of the account are listed, newest \
      first.
      """,
    examples: ["coffer flow list --account ada"],
    options: [account, limit, after],
    answers: FlowText.listing.shape,
    run: { invocation in
      guard invocation[account] == nil || invocation[after] == nil else {
        throw CommandFailure(.usage, "--after cannot be used with --account")
      }
      return try DatabaseSession.read(invocation, owning: .billing) { reader, now in
        let last = try invocation[after].map { try found($0, reader) }
        let owner = try invocation[account].map { text in
          try Identifier(text) ?? DatabaseSession.account(reader, text).id
        }
        // An account has so few flows that they have no pages.
        let page = try FlowText.listing.page(invocation, by: \.id.description) { limit in
          try owner.map { try FlowRows.newest(of: $0, limit: limit - 1, reading: reader) }
            ?? FlowRows.open(limit: limit, after: last, reading: reader)
        }
        let notice = try page.notice {
          Int64(try FlowRows.openCount(max: FlowText.countMax, reading: reader))
        }
        return FlowText.listing.answer(page, at: now, notice: notice)
      }
    })

  static let flowShow = Command(
    words: ["flow", "show"],
    abstract: "Show a billing operation, its step and what it waits for",
    discussion: """
      The ids are Stripe's, as in its dashboard. Every object that a flow creates has the flow's id in its \
      metadata, as coffer_flow. The secret that a client confirms payments with is not shown.
      """,
    examples: ["coffer flow show <id>"],
    arguments: [flowID],
    answers: FlowText.listing.item.adding([
      .init("waits_for", .text), .init("last_error", .orNull(.text)),
      .init("due", .orNull(.time)),
    ]),
    run: { invocation in
      try DatabaseSession.read(invocation, owning: .billing) { reader, now in
        let flow = try found(invocation[flowID], reader)
        return FlowText.answer(
          flow, try Jobs.find(FlowRunner.job, flow.object, reading: reader), at: now)
      }
    })

  static let flowRetry = Command(
    words: ["flow", "retry"],
    abstract: "Retry a billing operation now",
    discussion: """
      The step is repeated with the same idempotency key, so Stripe does nothing twice. A running \
      coffer-billing starts it within a second.
      """,
    examples: ["coffer flow retry <id>"],
    arguments: [flowID],
    options: Act.handyOptions,
    answers: Act.handyAnswers(["retried": .text]),
    run: { invocation in
      try Act.atOnce(invocation, owning: .billing) { transaction, now in
        let flow = try found(invocation[flowID], transaction)
        guard flow.isOpen else { throw CommandFailure(.refused, "the flow \(flow.id) is over") }
        try Jobs.request(FlowRunner.job, flow.object, due: now, in: transaction)
        _ = try Jobs.revive(FlowRunner.job, flow.object, now: now, in: transaction)
        return Act.Effect(
          subject: flow.object, account: flow.account, before: .object([]),
          after: ["step": .string(flow.step.rawValue)], text: "retried  \(flow.id)\n",
          members: [.init("retried", .string(flow.object))])
      }
    })

  static let flowDrop = Command(
    words: ["flow", "drop"],
    abstract: "Stop a billing operation and leave it unfinished",
    discussion: """
      The account can then start another one. Objects that the flow created at Stripe stay as they are: \
      check with coffer flow show first, and end in Stripe's dashboard what must not continue. A paid \
      subscription still counts, because Stripe's deliveries report it.
      """,
    examples: ["coffer flow drop <id> --reason \"stuck since Monday\" --yes"],
    arguments: [flowID],
    options: Act.options,
    answers: Act.answers(["dropped": .text]),
    run: { invocation in
      try Act.whenConfirmed(invocation, owning: .billing) { transaction, now in
        let flow = try found(invocation[flowID], transaction)
        guard try Flows.drop(flow.id, at: now, in: transaction) else {
          throw CommandFailure(.refused, "the flow \(flow.id) is over")
        }
        return Act.Effect(
          subject: flow.object, account: flow.account,
          before: [
            "status": .string(flow.status.rawValue), "step": .string(flow.step.rawValue),
          ], after: ["status": "failed", "step": .string(flow.step.rawValue)],
          text: "dropped  \(flow.id)\n", members: [.init("dropped", .string(flow.object))])
      }
    })

  private static func found(_ text: String, _ reader: some Queryable) throws -> Flow {
    guard let id = Identifier(text) else {
      throw CommandFailure(.usage, "\(quoted(text)) is not a flow id")
    }
    guard let flow = try FlowRows.find(id, reading: reader) else {
      throw CommandFailure(.refused, "there is no flow \(id)")
    }
    return flow
  }
}

enum FlowText {
  static let countMax = 100_000

  static var listing: Listing<Flow> {
    Listing(
      "flows",
      [
        .text("flow", "FLOW") { $0.id.description },
        .text("account", "ACCOUNT") { $0.account.description },
        .text("kind", "KIND") { $0.intention.kind.rawValue },
        Column(
          "asked",
          .object(
            ["kind", "plan", "interval", "payment_method", "return_url", "cancel_url"].map {
              .init($0, .text, isOptional: true)
            }), json: { $0.intention.json }),
        Column(
          "status", .text, "STATUS", json: { .string($0.status.rawValue) },
          cell: { flow, _ in flow.problem?.code.rawValue ?? flow.status.rawValue }),
        .text("step", "STEP") { $0.step.rawValue },
        Column(
          "step_since", .time, "SINCE", .right, json: { .string($0.stepSince.description) },
          cell: { flow, now in SpanText.text(now - flow.stepSince) }),
        .time("created") { $0.created }, .optionalTime("closed") { $0.closed },
        .optionalText("problem") { $0.problem?.code.rawValue },
        Column(
          "state", .object(Flow.Key.allCases.map { .init($0.rawValue, .text, isOptional: true) }),
          json: { flow in
            let state = flow.state.sorted { $0.key.rawValue < $1.key.rawValue }
            return .object(state.map { .init($0.key.rawValue, .string($0.value)) })
          }),
      ], tint: { $0.status == .failed ? .bad : nil })
  }

  static func answer(_ flow: Flow, _ job: JobSummary?, at now: Instant) -> Answer {
    let waits = waits(flow, job)
    var lines: [(name: String, value: String)] = [
      ("flow", flow.id.description), ("account", flow.account.description),
      ("asked", asked(flow)), ("status", flow.status.rawValue),
      ("step", "\(flow.step.rawValue), for \(SpanText.text(now - flow.stepSince))"),
      ("waits for", waits),
    ]
    if let problem = flow.problem {
      lines.append(("problem", "\(problem.code.rawValue): \(problem.problem.detail)"))
    }
    if let error = job?.lastError, flow.isOpen { lines.append(("last error", error)) }
    for (key, value) in flow.state.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      lines.append((key.rawValue, value))
    }
    let open = flow.isOpen ? job : nil
    return Answer(
      text: Prose.fields(lines),
      json: .object(
        listing.members(flow) + [
          .init("waits_for", .string(waits)),
          .init("last_error", open?.lastError.map { .string($0) } ?? .null),
          .init("due", open?.due.map { .string($0.description) } ?? .null),
        ]))
  }

  static func asked(_ flow: Flow) -> String {
    let words = [flow.intention.plan, flow.intention.interval?.rawValue].compactMap { $0 }
    return ([flow.intention.kind.rawValue] + words).joined(separator: " ")
  }

  private static func waits(_ flow: Flow, _ job: JobSummary?) -> String {
    if !flow.isOpen { return "nothing" }
    if job?.state == .dead { return "an operator: its job failed permanently" }
    if flow.status == .requiresAction { return "its client" }
    if flow.step == .record { return "the ledger's read of the subscription" }
    return job?.failingSince == nil ? "its turn" : "Stripe"
  }
}
