internal import Audit
internal import Base
internal import Configuration
internal import Crypto
internal import JSON
internal import Jobs
internal import KnownStores
internal import Ledger
internal import ProviderAPI
internal import Storage
internal import Stores
internal import Subscriptions
internal import Tiers

extension Command {
  private static let key = Parameter<ObjectKey>.required(
    "subscription", text: "its key", .subscription)
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
    arguments: [key],
    options: [now] + Act.options,
    answers: answers,
    run: { invocation in
      try StandingOrder(invocation[key], invocation) { _ in
        invocation[now] ? .end : .stopRenewal
      }.run()
    })

  static let subscriptionRefund = Command(
    words: ["subscription", "refund"],
    abstract: "Has its store give a payment of a subscription back.",
    discussion: """
      The subscription itself goes on; coffer subscription cancel ends it. What the refund means for \
      the account's storage follows from what the store says of it, as of a refund that was made \
      there. Google Play gives a payment back as a whole. The same refund ordered twice, before \
      the store's word of the first has come, is one; what the store cannot give back it refuses.
      """,
    arguments: [key],
    options: [payment, amount] + Act.options,
    answers: answers,
    run: { invocation in
      try StandingOrder(invocation[key], invocation) { bill in
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
      word has come, it is refused instead of given twice.
      """,
    arguments: [key],
    options: [days, cause] + Act.options,
    answers: answers,
    run: { invocation in
      try StandingOrder(invocation[key], invocation) { _ in
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
    guard let payment = id == nil ? paid.first : paid.first(where: { $0.object.id == id }) else {
      throw CommandFailure(
        .refused, id.map { "no payment \($0) of it is known" } ?? "no payment of it is known")
    }
    guard let total = payment.amount else {
      throw CommandFailure(.refused, "nothing tells how much \(payment.object.id) was paid with")
    }
    let part = amount.map { Money(amount: $0, currency: total.currency) }
    let digits = MinorUnits.exponent(of: total.currency.lowercased())
    if let part, part.count(exponent: digits) == nil {
      throw CommandFailure(
        .usage,
        "\(part.amount) has more digits behind the point than \(total.currency) has: "
          + "\(digits)")
    }
    return .refund(
      payment: payment.object.id, amount: part,
      earlierCount: bill.reversals.count)
  }
}

/// An order to a store, from what is known of the subscription to what the store says of it.
private struct StandingOrder: Sendable {
  private let key: ObjectKey
  private let invocation: Invocation
  private let order: @Sendable (Bill) throws -> StoreOrder

  init(
    _ key: ObjectKey, _ invocation: Invocation,
    _ order: @escaping @Sendable (Bill) throws -> StoreOrder
  ) {
    self.key = key
    self.invocation = invocation
    self.order = order
  }

  func run() throws -> Answer {
    try DatabaseSession.with(invocation, owning: .billing) { database, configuration in
      let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
      let stores = try StoreList(
        try DatabaseConfiguration.stores(invocation.settings), transport: { _ in CurlTransport() },
        clock: configuration.clock)
      let store = try stores.store(of: key)
      let subscription = try database.read { try ledger.reading($0).subscription(key) }
      let order = try order(subscription.record.bill)
      try check(order, store)
      let request = try request(database, ledger, configuration)
      let act = try Act(invocation, on: database)
      return try act.whenConfirmed(
        at: now, { try effect(of: order, store, ledger, $0) },
        then: { entry, answer in
          var (step, outcome) = ("done", "done")
          var failure: CommandFailure?
          do throws(APIFailure) {
            try store.perform(order, request, subscription.record)
          } catch {
            outcome = "\(error)"
            let told = Self.failure(error, store)
            step = told.code == .unavailable ? "unanswered" : "refused"
            failure = told
          }
          let told = Act.Effect(
            subject: key.description, account: subscription.ownership.account,
            before: ["asked": .string(order.kind.rawValue), "in": .string(entry.description)],
            after: ["answered": .string(outcome)], step: step)
          try database.write(for: nil) { transaction in
            try act.note(told, because: invocation[Act.reason], at: now, in: transaction)
            _ = try ledger.read(key, payload: nil, at: now, in: transaction)
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
    of order: StoreOrder, _ store: any Store, _ ledger: Ledger, _ transaction: Transaction
  ) throws -> Act.Effect {
    let subscription = try ledger.reading(transaction).subscription(key)
    let isUnpaid = [.pending, .onHold, .paused].contains(
      subscription.record.labelWithoutAccess(hadAccess: true))
    let (before, after): (JSONValue, JSONValue)
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
    case .refund(let id, let amount, _):
      let payment = subscription.record.bill.payments.first { $0.object.id == id }
      let total = payment?.amount?.description ?? "unknown"
      before = ["payment": .string(id), "paid": .string(total)]
      after = [
        "payment": .string(id), "paid": .string(total),
        "goes_back": .string(amount?.description ?? "all that is left of it"),
      ]
    case .extend(let days, let cause):
      let end = subscription.record.bill.payments.compactMap(\.to).max()
      before = ["ends": end.map { .string($0.description) } ?? "unknown"]
      after = [
        "ends": end.map { .string(($0 + .days(days)).description) } ?? "unknown",
        "days": .integer(days),
        "because": .string(cause.rawValue),
      ]
    }
    return Act.Effect(
      subject: key.description,
      account: subscription.ownership.account, before: before, after: after,
      members: [
        .init("subscription", .string(key.description)),
        .init("store", .string(store.provider.rawValue)),
      ], step: "ordered")
  }

  /// With the secret that deliveries told, where the store is asked by one.
  private func request(
    _ database: Database, _ ledger: Ledger, _ configuration: DatabaseConfiguration
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
    case .transient:
      return CommandFailure(
        .unavailable,
        "\(title): \(failure); it may have been done or not: the subscription is read next, and "
          + "ordering it again is safe")
    case .misconfigured: return CommandFailure(.configuration, "\(title): \(failure)")
    default: return CommandFailure(.refused, "\(title): \(failure); nothing was done")
    }
  }
}
