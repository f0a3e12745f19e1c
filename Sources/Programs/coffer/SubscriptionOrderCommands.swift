internal import Audit
internal import Base
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Orders
internal import ProviderAPI
internal import Storage
internal import Stores
internal import Subscriptions

extension Command {
  private static let named = Parameter<NamedSubscription>.required(
    "subscription", text: NamedSubscription.help, .subscription)
  private static let now = Parameter<Bool>.flag(
    "--now", text: "it ends at once; Google Play gives the last payment back with that")
  private static let payment = Parameter<String?>.optional(
    "--payment", "id",
    text: "which, as entitlement explain lists payments: an invoice of Stripe's, an order of "
      + "Google's; the last that was paid without this option", .text)
  private static let amount = Parameter<String?>.optional(
    "--amount", "amount",
    text: "how much of it, in its currency, e.g. 4.99; all that is left without this option",
    .amount)
  private static let days = Parameter<Int64?>.optional(
    "--days", "days",
    text:
      "how many: 1 to 90 at the App Store, which does it twice in a year at most; to 365 at Google "
      + "Play", .number(in: 1...365))
  private static let cause = Parameter<ExtensionCause>.optional(
    "--because", "cause",
    text: { "why, for Apple: satisfaction, outage or other; \($0.rawValue) without this option" },
    Form { (text, name) throws(CommandFailure) in
      if let cause = ExtensionCause(rawValue: text) { return cause }
      throw CommandFailure(.usage, "\(name) is satisfaction, outage or other")
    }, otherwise: .other)
  private static let timeout = Parameter<Instant.Span?>.optional(
    "--timeout", "span",
    text: "wait no longer for the store's answer, e.g. 5s or 2min (default: 1min)", .span)
  private static let answers = Act.answers(["subscription": .text, "store": .text])
    .adding(OrderWait.shape)

  static let subscriptionCancel = Command(
    words: ["subscription", "cancel"],
    abstract: "Has its store bill a subscription no more.",
    discussion: """
      What was paid for goes on to its end, unless --now is given; where the last period is not, Stripe \
      would go on collecting until it is over, and ends it now. Stripe and Google Play do it, with the key \
      of their API that is configured; a customer of the App Store cancels there.

      \(orderRules)
      """,
    arguments: [named],
    options: [now, timeout] + Act.options,
    answers: answers,
    run: { invocation in
      try ordered(invocation[now] ? .end : .stopRenewal, invocation)
    })

  static let subscriptionRefund = Command(
    words: ["subscription", "refund"],
    abstract: "Has its store give a payment of a subscription back.",
    discussion: """
      The subscription itself goes on; coffer subscription cancel ends it. What the refund means for \
      the account's storage follows from what the store says of it, as of a refund that was made \
      there. It is shown how much was paid, how much went back before and how much goes back now; \
      more than is left is refused. Google Play gives a payment back as a whole, and of one that went \
      back in part it does not always tell how much is left.

      \(orderRules)
      """,
    arguments: [named],
    options: [payment, amount, timeout] + Act.options,
    answers: answers,
    run: { invocation in
      try ordered(
        .refund(payment: invocation[payment], amount: invocation[amount]), invocation)
    })

  static let subscriptionExtend = Command(
    words: ["subscription", "extend"],
    abstract: "Has its store give days: what is paid for ends later, and renews then.",
    discussion: """
      The App Store and Google Play do it for a subscription that runs, with the key of their API that is \
      configured; both tell it themselves afterwards, and what is owed follows from that alone. It is \
      done only while the subscription ends when Coffer knows it to.

      \(orderRules)
      """,
    arguments: [named],
    options: [days, cause, timeout] + Act.options,
    answers: answers,
    run: { invocation in
      guard let days = invocation[days] else {
        throw CommandFailure(.usage, "subscription extend needs --days <days>")
      }
      return try ordered(.extend(days: days, because: invocation[cause]), invocation)
    })

  /// What holds for each order.
  private static let orderRules = """
    The order is named by its entry in the audit log. coffer-billing has the store do it, asks again where no \
    answer comes, for 23 hours, and notes what came of it; the store does it once. While an order is under way \
    no other of its kind is taken for the same subscription. The command waits for the answer: 69 where the \
    store did not give one yet, 75 where coffer-billing has not asked it within --timeout. In both cases the order \
    stands, and coffer audit show tells what becomes of it. Then the subscription is read.
    """

  private static func ordered(_ wish: OrderWish, _ invocation: Invocation) throws -> Answer {
    try DatabaseSession.with(invocation, owning: .billing) { database, configuration in
      let ledger = Ledger(stores: .known, configuration)
      let stores = try StoreList.configured(invocation.settings, clock: configuration.clock)
      let key = try database.read { try invocation[named].key(ledger, reading: $0) }
      let store = try stores.store(of: key)
      return try Act(invocation, on: database).whenConfirmed(
        { transaction, now in
          do {
            let plan = try OrderPlan(wish, of: key, store, ledger, at: now, in: transaction)
            return Act.Effect(
              subject: key.description, account: plan.account, before: plan.before,
              after: plan.after,
              members: [
                .init("subscription", .string(key.description)),
                .init("store", .string(store.provider.rawValue)),
              ], step: "ordered", noted: { try plan.place(as: $0, in: $1) })
          } catch let refusal as OrderRefusal {
            throw CommandFailure(refusal)
          }
        },
        then: { entry, answer in
          try OrderWait(
            for: entry.name, at: store.traits.title, atMost: invocation[timeout] ?? .minutes(1)
          ).answer(behind: answer, database)
        })
    }
  }
}

extension CommandFailure {
  fileprivate init(_ refusal: OrderRefusal) {
    let code: ExitCode =
      switch refusal.kind {
      case .invalid: .usage
      case .refused: .refused
      case .unconfigured: .configuration
      }
    self.init(code, refusal.text)
  }
}
