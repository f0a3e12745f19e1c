internal import Audit
internal import Base
internal import Configuration
internal import Crypto
internal import JSON
internal import Jobs
internal import KnownStores
internal import Ledger
internal import ProviderAPI
internal import Report
internal import Storage
internal import Stores
internal import Subscriptions
internal import Tiers

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
  private static let another = Parameter<Bool>.flag(
    "--another", text: "one more, where the same got no answer and was done since")
  private static let answers = Act.answers(["subscription": .text, "store": .text])

  static let subscriptionCancel = Command(
    words: ["subscription", "cancel"],
    abstract: "Has its store bill a subscription no more.",
    discussion: """
      What was paid for goes on to its end, unless --now is given; where the last period is not, Stripe \
      would go on collecting until it is over, and ends it now. What is ordered is in the audit log \
      before the store hears of it, and what the store said after it; then the subscription is read, \
      and what is owed follows from that alone. Stripe and Google Play do it, with the key of their API \
      that is configured; a customer of the App Store cancels there. Ordering it twice does it once.
      """,
    arguments: [named],
    options: [now] + Act.options,
    answers: answers,
    run: { invocation in
      try StandingOrder(invocation[named], invocation) { _ in
        invocation[now] ? .end : .stopRenewal
      }.run()
    })

  static let subscriptionRefund = Command(
    words: ["subscription", "refund"],
    abstract: "Has its store give a payment of a subscription back.",
    discussion: """
      The subscription itself goes on; coffer subscription cancel ends it. What the refund means for \
      the account's storage follows from what the store says of it, as of a refund that was made \
      there. It is shown how much was paid, how much went back before and how much goes back now; \
      more than is left is refused. Google Play gives a payment back as a whole, and of one that went \
      back in part it does not always tell how much is left. The same refund ordered twice, before the \
      store's word of the first has come, is one, and while the first is under way it is refused. Where the first got no answer and a refund is known \
      since, the same is refused for thirty days: it was done. --another makes one more.
      """,
    arguments: [named],
    options: [payment, amount, another] + Act.options,
    answers: answers,
    run: { invocation in
      try StandingOrder(invocation[named], invocation, wantsAnother: invocation[another]) { bill in
        try refund(of: invocation[payment], invocation[amount], bill)
      }.run()
    })

  static let subscriptionExtend = Command(
    words: ["subscription", "extend"],
    abstract: "Has its store give days: what is paid for ends later, and renews then.",
    discussion: """
      The App Store and Google Play do it for a subscription that runs, with the key of their API that is \
      configured; both tell it themselves afterwards, and what is owed follows from that alone. It is \
      done only while the subscription ends when Coffer knows it to: ordered again before the store's \
      word has come, or by somebody else at once, it is refused instead of given twice. Where the first got no answer and another end \
      is known since, so many days are refused for thirty days, too, unless with --another.
      """,
    arguments: [named],
    options: [days, cause, another] + Act.options,
    answers: answers,
    run: { invocation in
      try StandingOrder(invocation[named], invocation, wantsAnother: invocation[another]) { _ in
        guard let days = invocation[days] else {
          throw CommandFailure(.usage, "subscription extend needs --days <days>")
        }
        return .extend(days: days, because: invocation[cause])
      }.run()
    })

  private static func refund(
    of id: String?, _ amount: String?, _ bill: Bill
  ) throws(CommandFailure) -> StoreOrder {
    let paid = bill.payments.filter { $0.state == .paid }
    // What costs nothing, as a trial, is no payment that anybody wants back.
    let last = paid.first { $0.amount.flatMap { MoneySum($0) }.map { !$0.isZero } ?? true }
    guard let payment = id == nil ? last : paid.first(where: { $0.object.id == id }) else {
      throw CommandFailure(
        .refused, id.map { "no payment \($0) of it is known" } ?? "no payment of it is known")
    }
    let name = payment.object.id
    guard let refund = PaymentRefund(of: payment, bill) else {
      throw CommandFailure(.refused, "nothing tells how much \(name) was paid with")
    }
    let part = amount.map { Money(amount: $0, currency: refund.paid.currency) }
    let digits = MinorUnits.exponent(of: refund.paid.currency.lowercased())
    if let part, part.count(exponent: digits) == nil {
      throw CommandFailure(
        .usage,
        "\(part.amount) has more digits behind the point than \(part.currency) has: \(digits)")
    }
    if let refusal = refund.refusal(of: part) { throw CommandFailure(.refused, refusal) }
    return .refund(payment: name, amount: part, earlierCount: refund.count)
  }
}

/// An order to a store, from what is known of the subscription to what the store says of it.
private struct StandingOrder: Sendable {
  private let named: NamedSubscription
  private let invocation: Invocation
  private let wantsAnother: Bool
  private let order: @Sendable (Bill) throws -> StoreOrder

  init(
    _ named: NamedSubscription, _ invocation: Invocation, wantsAnother: Bool = false,
    _ order: @escaping @Sendable (Bill) throws -> StoreOrder
  ) {
    self.named = named
    self.invocation = invocation
    self.wantsAnother = wantsAnother
    self.order = order
  }

  func run() throws -> Answer {
    try DatabaseSession.with(invocation, owning: .billing) { database, configuration in
      let ledger = Ledger(stores: .known, configuration)
      let stores = try StoreList(
        try DatabaseConfiguration.stores(invocation.settings), transport: { _ in CurlTransport() },
        clock: configuration.clock)
      let key = try database.read { try named.key(ledger, reading: $0) }
      let store = try stores.store(of: key)
      let subscription = try database.read { try ledger.reading($0).subscription(key) }
      let order = try order(subscription.record.bill)
      try check(order, store)
      guard try database.read({ try ledger.knows(key, reading: $0) }) else {
        throw CommandFailure(
          .refused, "nothing is known of \(key): coffer subscription read has its store asked")
      }
      let request = try request(key, database, configuration)
      let act = try Act(invocation, on: database)
      return try act.whenConfirmed(
        { transaction, now in
          let unanswered = try UnansweredOrders(about: key, at: now, in: transaction)
          // Where nobody is left to note the answer, it is read what became of it.
          _ = try ledger.read(
            key, because: store.readReason(after: order), at: now + UnansweredOrders.answerSpan,
            in: transaction)
          return try effect(of: order, on: key, store, ledger, unanswered, transaction)
        },
        then: { entry, answer in
          var (step, outcome) = (UnansweredOrders.Outcome.done, "done")
          var failure: CommandFailure?
          do throws(APIFailure) {
            try store.perform(order, request, subscription.record)
          } catch {
            outcome = "\(error)"
            let told = Self.failure(error, store)
            step = told.code == .unavailable ? .unanswered : .refused
            failure = told
          }
          let told = Act.Effect(
            subject: key.description, account: subscription.ownership.account,
            before: ["asked": .string(order.kind.rawValue), "in": .string(entry.name.description)],
            after: ["answered": .string(outcome)], step: step.rawValue)
          do {
            try database.write(for: nil) { transaction in
              _ = try ledger.read(key, at: entry.at, in: transaction)
              // Of the same moment, by which the two are found together.
              try act.note(told, because: invocation[Act.reason], at: entry.at, in: transaction)
            }
          } catch {
            // What the store did is not to be taken for undone.
            let word = failure?.text ?? "done at \(store.traits.title)"
            let cause = Entry.failure(of: error)
            throw CommandFailure(
              cause.code, "\(word); its entry in the log is missing: \(cause.text)")
          }
          if let failure { throw failure }
          return Answer(
            text: answer.text + "done at \(store.traits.title); the subscription is read next\n",
            json: answer.json)
        })
    }
  }

  private func check(_ order: StoreOrder, _ store: any Store) throws(CommandFailure) {
    let traits = store.traits
    guard traits.orders.contains(order.kind) else {
      throw CommandFailure(.refused, "\(traits.title) is not told that: \(traits.orderAdvice)")
    }
    if case .refund(_, .some, _) = order, traits.refundsWholeOnly {
      throw CommandFailure(.usage, "\(traits.title) gives a payment back as a whole: no --amount")
    }
    if case .extend(let days, _) = order, !(1...traits.extensionDaysMax ~= days) {
      throw CommandFailure(
        .usage, "\(traits.title) gives from 1 to \(traits.extensionDaysMax) days at once")
    }
    guard store.isReadable else {
      throw CommandFailure(
        .configuration, "\(traits.title) is told nothing: no key of its API is configured")
    }
  }

  /// What will be asked for beside what is known.
  private func effect(
    of order: StoreOrder, on key: ObjectKey, _ store: any Store, _ ledger: Ledger,
    _ unanswered: UnansweredOrders, _ transaction: Transaction
  ) throws -> Act.Effect {
    let subscription = try ledger.reading(transaction).subscription(key)
    let isUnpaid = [.pending, .onHold, .paused].contains(
      subscription.record.labelWithoutAccess(hadAccess: true))
    let (before, after): (JSONValue, JSONValue)
    var news = ""
    switch order {
    case .stopRenewal where !isUnpaid || !store.traits.endsUnpaidAtOnce:
      before = ["renews": .bool(subscription.record.willRenew)]
      after = ["renews": false]
    case .stopRenewal, .end:
      before = ["renews": .bool(subscription.record.willRenew), "ends": "when its store says so"]
      after = [
        "renews": false,
        "ends": store.traits.refundsAtEnd ? "now, and the last payment goes back" : "now",
      ]
    case .refund(let id, let amount, let earlierCount):
      let bill = subscription.record.bill
      guard let payment = bill.payments.first(where: { $0.object.id == id }),
        let refund = PaymentRefund(of: payment, bill)
      else { throw CommandFailure(.refused, "nothing tells any more how much \(id) was paid with") }
      guard refund.count == earlierCount else {
        throw CommandFailure(.refused, "a refund of \(id) has come meanwhile; look again")
      }
      (before, after) = refund.change(by: amount, at: store.traits.title)
      news = refund.newest.map { "\($0) is known" } ?? ""
    case .extend(let days, let cause):
      let end = subscription.record.end
      before = ["ends": end.map { .string($0.description) } ?? "unknown"]
      after = [
        "ends": end.map { .string(($0 + .days(days)).description) } ?? "unknown",
        "days": .integer(days),
        "because": .string(cause.rawValue),
      ]
      news = end.map { "its end is \($0)" } ?? ""
    }
    let effect = Act.Effect(
      subject: key.description,
      account: subscription.ownership.account, before: before, after: after,
      members: [
        .init("subscription", .string(key.description)),
        .init("store", .string(store.provider.rawValue)),
      ], step: AuditEntry.orderStep)
    return try unanswered.told(
      in: effect, of: invocation.name, order.kind, wantsAnother: wantsAnother, news: news)
  }

  /// With the secret that deliveries told, where the store is asked by one.
  private func request(
    _ key: ObjectKey, _ database: Database, _ configuration: DatabaseConfiguration
  ) throws -> StoreRead {
    let payload = try database.read {
      try Jobs.payload(Ledger.readJob, key.description, reading: $0)
    }
    var secret: Secret?
    if let payload {
      guard let sealing = configuration.sealingKeys else {
        throw CommandFailure(.usage, "its token is kept sealed: COFFER_SEALING_KEYS is not set")
      }
      secret = Secret(
        try sealing.open(payload, context: PreparedDelivery.payloadContext(key)))
    }
    return StoreRead(key, readNumber: 0, secret: secret) {
      StoreRead.Known(reasons: [], parts: [])
    }
  }

  private static func failure(_ failure: APIFailure, _ store: any Store) -> CommandFailure {
    let title = store.traits.title
    switch failure {
    // What nobody can read says nothing of what was done.
    case .transient, .malformed:
      return CommandFailure(
        .unavailable,
        "\(title): \(failure); it may have been done or not: the subscription is read next, and "
          + "the same again is done once")
    case .misconfigured: return CommandFailure(.configuration, "\(title): \(failure)")
    default: return CommandFailure(.refused, "\(title): \(failure); nothing was done")
    }
  }
}
