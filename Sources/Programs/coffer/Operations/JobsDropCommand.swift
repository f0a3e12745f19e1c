import Acts
import Base
import CommandLine
import Configuration
import Flows
import JSON
import Jobs
import Ledger
import Orders
import Storage
import Subscriptions

extension Command {
  private static let kind = Parameter<String>.required(
    "kind", text: "as in coffer jobs list", .text)
  private static let object = Parameter<String>.required(
    "object", text: "as in coffer jobs list", .text)

  static let jobsDrop = Command(
    words: ["jobs", "drop"],
    abstract: "Drop a dead job, or a read requested by mistake",
    discussion: """
      The object is not read again until there is news of it, or until you run coffer subscription read. A \
      waiting job cannot be dropped, except a read of an object that no store reported and no account \
      claims. Use that to undo a mistyped coffer subscription read. A doubted order can be dropped once its \
      job reports that coffer-billing has no API key of its store. It then counts as failed.
      """,
    examples: ["coffer jobs drop read stripe:live:subscription:sub_typo --reason \"typo\" --yes"],
    arguments: [kind, object],
    options: Act.options,
    answers: Act.answers(["dropped": .text]),
    run: { invocation in
      let (kind, object) = (invocation[kind], invocation[object])
      if kind == Order.job { return try dropOrder(object, invocation) }
      guard kind == Ledger.readJob else {
        return try Act.whenConfirmed(invocation, owning: .billing) { transaction, _ in
          try drop(kind, object, in: transaction)
        }
      }
      // What the subscription is owed can depend on the failure of its read.
      return try DatabaseSession.withLedger(invocation) { database, ledger, _ in
        try Act(invocation, on: database).whenConfirmed { transaction, now in
          // The sequence is locked before the job, as every reader does it.
          var isMistaken = false
          if let key = ObjectKey(object) {
            try ledger.noteAnswer(key, at: now, in: transaction)
            isMistaken = try ledger.isUnreported(key, reading: transaction)
          }
          return try drop(kind, object, isWaitingToo: isMistaken, in: transaction)
        }
      }
    })

  /// A doubted order waits for a read, which never comes while coffer-billing has no key of its store's API. Only the
  /// job reports that, because this command may run with other settings.
  private static func dropOrder(_ object: String, _ invocation: Invocation) throws -> Answer {
    try Act.whenConfirmed(invocation, owning: .billing) { transaction, _ in
      let order = try Int64(object).flatMap { try OrderRows.find($0, reading: transaction) }
      let job = try Jobs.find(Order.job, object, reading: transaction)
      guard let order, order.state == .doubted, job?.lastError == Order.withoutKey else {
        return try drop(Order.job, object, in: transaction)
      }
      var effect = try drop(Order.job, object, isWaitingToo: true, in: transaction)
      effect.noted = { try OrderRows.abandon(order, as: $0, in: $1) }
      return effect
    }
  }

  private static func drop(
    _ kind: String, _ object: String, isWaitingToo: Bool = false, in transaction: Transaction
  ) throws -> Act.Effect {
    guard let job = try Jobs.find(kind, object, reading: transaction) else {
      throw CommandFailure(.refused, "there is no job \(object) of the kind \(kind)")
    }
    // Without its job, the flow would stay open, and its account could start no other. Of a flow that cannot be read,
    // nothing else can be dropped.
    if kind == FlowRunner.job, let id = Identifier(object),
      (try? FlowRows.find(id, reading: transaction))?.isOpen == true
    {
      throw CommandFailure(
        .refused, "the flow \(object) is open: stop it with coffer flow drop \(object)")
    }
    guard try Jobs.drop(kind, object, isWaitingToo: isWaitingToo, in: transaction) else {
      let why = job.state == .waiting ? ": it is owed an answer" : ""
      throw CommandFailure(
        .refused,
        "the job \(object) of the kind \(kind) is \(job.state.rawValue), not dead\(why)")
    }
    let error = job.lastError.map { JSONValue.string($0) } ?? .null
    return Act.Effect(
      subject: "\(kind) \(object)",
      before: ["state": .string(job.state.rawValue), "last_error": error],
      after: ["state": "settled", "last_error": error], text: "dropped  \(kind) \(object)\n",
      members: [.init("dropped", .string(object))])
  }
}
