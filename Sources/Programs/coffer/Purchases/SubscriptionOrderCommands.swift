import Acts
import Audit
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Orders
import Storage
import Stores
import Subscriptions

extension Command {
  private static let named = Parameter<NamedSubscription>.required(
    "subscription", text: NamedSubscription.help, .subscription)
  private static let now = Parameter<Bool>.flag(
    "--now", text: "end it now; Google Play then refunds the last payment")
  private static let payment = Parameter<String?>.optional(
    "--payment", "id",
    text: "Stripe invoice or Google order, as in entitlement explain (default: last paid)", .text)
  private static let amount = Parameter<String?>.optional(
    "--amount", "amount", text: "amount in its currency, e.g. 4.99 (default: all that is left)",
    .amount)
  private static let days = Parameter<Int64?>.optional(
    "--days", "days",
    text: "days: 1 to 90 at the App Store (twice a year at most), 1 to 365 at Google Play",
    .number(in: 1...365))
  private static let cause = Parameter<ExtensionCause>.optional(
    "--because", "cause",
    text: { "cause for Apple: satisfaction, outage or other (default: \($0.rawValue))" },
    Form({ ExtensionCause(rawValue: $0) }, refusal: { "\($1) is satisfaction, outage or other" }),
    otherwise: .other)
  private static let timeout = Parameter<Instant.Span?>.optional(
    "--timeout", "span",
    text: "wait no longer for the store's answer, e.g. 5s or 2min (default: 1min)", .span)
  private static let answers = Act.answers(["subscription": .text, "store": .text])
    .adding(OrderWait.shape)

  static let subscriptionCancel = Command(
    words: ["subscription", "cancel"],
    abstract: "Cancel a subscription at its store (stops billing)",
    discussion: """
      The paid period continues to its end unless you give --now. If the last period is unpaid, Stripe \
      would keep collecting until it is over, so the subscription ends now. Works for Stripe and Google \
      Play with their API key. An App Store customer cancels at Apple.

      \(orderRules)
      """,
    examples: ["coffer subscription cancel sub_1Qx8y --reason \"ticket 4711\" --yes"],
    arguments: [named],
    options: [now, timeout] + Act.options,
    answers: answers,
    run: { invocation in
      try ordered(invocation[now] ? .end : .stopRenewal, invocation)
    })

  static let subscriptionRefund = Command(
    words: ["subscription", "refund"],
    abstract: "Refund a subscription payment through its store",
    discussion: """
      The subscription continues; end it with coffer subscription cancel. What the refund means for the \
      quota follows from the store's report, as for a refund made in its dashboard. The preview shows what \
      was paid, what was refunded before and what is refunded now. More than the rest is refused. Google \
      Play refunds a whole payment, and after a partial refund does not always report how much is left.

      \(orderRules)
      """,
    examples: ["coffer subscription refund sub_1Qx8y --amount 4.99 --reason \"ticket 4711\" --yes"],
    arguments: [named],
    options: [payment, amount, timeout] + Act.options,
    answers: answers,
    run: { invocation in
      try ordered(.refund(payment: invocation[payment], amount: invocation[amount]), invocation)
    })

  static let subscriptionExtend = Command(
    words: ["subscription", "extend"],
    abstract: "Extend a subscription's paid period by days",
    discussion: """
      Works at the App Store and Google Play for a running subscription, with their API key. The store \
      reports the new date itself, and the entitlement follows from that report alone. It is done only if \
      the subscription still ends when Coffer expects it to.

      \(orderRules)
      """,
    examples: ["coffer subscription extend 2000000912345678 --days 7 --reason \"outage\" --yes"],
    arguments: [named],
    options: [days, cause, timeout] + Act.options,
    answers: answers,
    run: { invocation in
      guard let days = invocation[days] else {
        throw CommandFailure(.usage, "subscription extend needs --days <days>")
      }
      return try ordered(.extend(days: days, because: invocation[cause]), invocation)
    })

  private static let orderRules = """
    The order has an entry in the audit log. coffer-billing sends it to the store, retries for 23 hours if no answer \
    comes, and records the result. The store does it once. While an order is open, no other of its kind is accepted \
    for the same subscription.

    The command waits for the result, and the subscription is then read. The exit code is 69 if the store has not \
    answered yet, and 75 if coffer-billing has not sent the order within --timeout. In both cases the order stays \
    open: see coffer audit show.
    """

  private static func ordered(_ intent: OrderIntent, _ invocation: Invocation) throws -> Answer {
    try DatabaseSession.with(invocation, owning: .billing) { database, configuration in
      let ledger = Ledger(stores: .known, configuration)
      let stores = try StoreList.configured(invocation.settings, clock: configuration.clock)
      let key = try database.read { try invocation[named].key(ledger, reading: $0) }
      let store = try stores.store(of: key)
      return try Act(invocation, on: database).whenConfirmed(
        { transaction, now in
          let plan = try OrderPlan(intent, of: key, store, ledger, at: now, in: transaction)
          return Act.Effect(
            subject: key.description, account: plan.account, before: plan.before, after: plan.after,
            members: [
              .init("subscription", .string(key.description)),
              .init("store", .string(store.provider.rawValue)),
            ], step: "ordered", noted: { try plan.place(as: $0, in: $1) })
        },
        then: { entry, answer in
          try OrderWait(
            for: entry.name, at: store.traits.title, atMost: invocation[timeout] ?? .minutes(1)
          ).answer(behind: answer, database)
        })
    }
  }
}
