internal import Answers
internal import Base
internal import CommandLine
internal import Ledger
internal import ProviderAPI
internal import Subscriptions
internal import Tiers

/// One subscription of an explanation: its owner, its products, the money, what it is owed, and its history.
struct SubscriptionText {
  private let subscription: EntitlementExplanation.Subscription
  private let now: Instant
  /// The moment in question: `now`, or another.
  private let moment: Instant
  /// The plan that an unknown product counts as; nil: it gives no storage.
  private let fallbackPlanID: String?
  private let isWide: Bool

  /// The text about its owner; nil if that is shown elsewhere.
  private let owned: String?

  init(
    _ subscription: EntitlementExplanation.Subscription, owned: String?, at now: Instant,
    about moment: Instant,
    fallbackPlanID: String?, isWide: Bool
  ) {
    self.subscription = subscription
    self.owned = owned
    self.now = now
    self.moment = moment
    self.fallbackPlanID = fallbackPlanID
    self.isWide = isWide
  }

  /// The most payments that are shown; `--json` has all.
  private static let paymentCountMax = 24

  var text: String {
    var text = head
    if let owned { text += line(owned) }
    for item in subscription.bill.items { text += line(sentence(item)) }
    if let next = subscription.next { text += line(sentence(next)) }
    if subscription.bill.isScheduled {
      text += line(
        "\(subscription.store) has a schedule for it: it may be another with the next period")
    }
    if let pause = subscription.pause { text += line(sentence(pause)) }
    for product in subscription.unknownProducts {
      text += line("\(Printable.text(product)) is in no catalogue: \(unknownMeans)")
    }
    for product in subscription.unmappedProducts {
      text += line(
        "\(Printable.text(product)) is no longer in the catalogue: it keeps the plan that it had")
    }
    for item in subscription.attention where !Self.told.contains(item.kind) {
      text += line(
        "needs attention since \(item.since): "
          + Printable.text("\(item.kind.rawValue) \(item.detail)"))
    }
    for read in subscription.openReads {
      text += line(Self.sentence(read, from: subscription.store))
    }
    if let end = subscription.acknowledgedBy {
      text += line(
        "\(subscription.store) does not know that it was delivered, and will refund it "
          + "at \(end), in \(hours(until: end)) hours")
    }
    text += titled("payments, newest first", payments)
    if subscription.bill.payments.count > Self.paymentCountMax {
      text += "    \(Self.paymentCountMax) of \(subscription.bill.payments.count)\n"
    }
    text += titled("refunded and disputed, newest first", reversals)
    text += titled("owed", owed)
    text += titled("its state, as delivered by", deliveries)
    return text + titled("what happened, newest first", transitions)
  }

  private var head: String {
    var text = "\(subscription.label.rawValue)"
    if subscription.labelThen != subscription.label {
      text += " (\(subscription.labelThen.rawValue) at \(moment))"
    }
    text += subscription.willRenew ? ", renews" : ", does not renew"
    if subscription.isDirty { text += ", contradictory states: will be read from the store" }
    if subscription.environment == .sandbox { text += ", sandbox" }
    let key = subscription.key.description
    let room = ExplanationText.widthMax - text.count - 2
    return (isWide ? key : Folded.text(key, to: max(room, 40))) + ": \(text)\n"
  }

  private func line(_ text: String) -> String {
    Prose.text(text, indent: "  ", width: ExplanationText.widthMax)
  }

  private func titled(_ title: String, _ table: Table) -> String {
    table.isEmpty ? "" : "\n  \(title)\n" + table.indented(isWide: isWide)
  }

  // MARK: tables

  private var payments: Table {
    var table = Table(
      ("AT", .left), ("BY", .folded), ("AMOUNT", .right), ("STATE", .left), ("FOR", .folded),
      ("FROM", .left), ("TO", .left))
    for payment in subscription.bill.payments.prefix(Self.paymentCountMax) {
      table.add(
        time(payment.at), "\(payment.object.kind.rawValue) \(payment.object.id)",
        amount(payment), payment.word, payment.product ?? "-",
        day(payment.from), day(payment.to))
    }
    return table
  }

  private var reversals: Table {
    var table = Table(
      ("AT", .left), ("WHAT", .left), ("AMOUNT", .right), ("STATE", .left), ("", .left),
      ("BY", .folded))
    for reversal in subscription.bill.reversals.prefix(Self.paymentCountMax) {
      table.add(
        time(reversal.at), reversal.kind.rawValue, reversal.amount?.description ?? "-",
        reversal.word, reversal.state == .open ? "open" : "",
        "\(reversal.object.kind.rawValue) \(reversal.object.id)")
    }
    return table
  }

  private var owed: Table {
    var table = Table(
      ("FROM", .left), ("TO", .left), ("PLAN", .left), ("WHY", .left), ("EVIDENCE", .folded),
      ("DELIVERED BY", .folded))
    for interval in subscription.intervals {
      table.add(
        time(interval.from), time(interval.to), interval.planID,
        interval.why.rawValue, "\(interval.evidence.kind.rawValue) \(interval.evidence.id)",
        interval.deliveries.map(\.deliveryID).joined(separator: ", "))
    }
    return table
  }

  private var deliveries: Table {
    var table = Table(
      ("DELIVERY", .folded), ("TYPE", .folded), ("CREATED", .left), ("RECEIVED", .left))
    for delivery in subscription.deliveries {
      table.add(
        delivery.deliveryID, delivery.type, time(delivery.created), time(delivery.received))
    }
    return table
  }

  private var transitions: Table {
    var table = Table(("AT", .left), ("NOTICED", .left), ("CHANGE", .folded), ("CAUSE", .left))
    for transition in subscription.transitions {
      table.add(
        time(transition.at), time(transition.noticed),
        "\(transition.before) -> \(transition.after)", transition.cause)
    }
    return table
  }

  // MARK: words

  /// What the lines above already say in their own words.
  private static let told: Set<Attention.Kind> = [
    .contradiction, .unknownProduct, .unmappedProduct,
  ]

  private var unknownMeans: String {
    fallbackPlanID.map { "it counts as the plan \($0)" }
      ?? "it gives no storage"
  }

  private func time(_ moment: Instant?) -> String { Terminal.time(moment, now: now) }

  private func amount(_ payment: Bill.Payment) -> String {
    payment.irregular.map { "\($0.came.amount) of \($0.asked)" }
      ?? payment.amount?.description ?? "-"
  }

  /// The day only; the tables have the time.
  private func day(_ moment: Instant?) -> String {
    moment.map { String($0.description.prefix(10)) } ?? "-"
  }

  private func hours(until end: Instant) -> Int64 {
    max(0, (end - now).milliseconds / Instant.Span.hours(1).milliseconds)
  }

  private func names(_ item: Bill.Item) -> String {
    let names = [item.product.map { "product \($0)" }, item.price.map { "price \($0)" }]
      .compactMap { $0 }.joined(separator: ", ")
    return Printable.text(names.isEmpty ? "nothing that is named" : names)
  }

  private func sentence(_ next: EntitlementExplanation.Next) -> String {
    "renews as \(names(next.item)), "
      + (next.plan.map { "plan \($0.id)" } ?? "which gives no storage")
  }

  private func sentence(_ pause: Pause) -> String {
    let since = pause.since.map { " since \($0)" } ?? ""
    guard pause.reason == .collection else {
      return "paused\(since) (\(pause.reason.rawValue)): "
        + (pause.until.map { "\(subscription.store) resumes it at \($0) and charges again" }
          ?? "until it is resumed")
    }
    return "no payment is requested at present"
      + (pause.until.map { ": from \($0) on it is again" } ?? "")
  }

  private func sentence(_ item: Bill.Item) -> String {
    "for " + names(item)
      + (item.isLeaving ? ", until it renews" : "")
      + (subscription.ignoredItems.contains(item)
        ? ", which the catalogue ignores: it gives no storage" : "")
  }

  static func sentence(
    _ read: EntitlementExplanation.OpenRead, from store: String
  ) -> String {
    var text = "to be read from \(store), "
    text += read.due.map { "next at \($0)" } ?? "failed permanently: see coffer jobs retry"
    if let reason = read.reason { text += "; because of \(Printable.text(reason))" }
    if let since = read.unansweredSince {
      let cause = read.cause ?? .silence
      text += "; \(store) \(cause.deed) since \(since)"
      if cause == .configuration { text += " (coffer doctor --online checks it)" }
      if let end = read.carriedOnUntil {
        let deed = cause == .silence ? "does" : "is read"
        text += ": until it \(deed), nothing is taken away, at the latest until \(end)"
      }
    }
    if read.attempts > 0 { text += "; \(counted(read.attempts, "attempt")) failed in a row" }
    if let error = read.lastError { text += "; the last: \(Printable.text(error))" }
    return text
  }
}

extension EntitlementExplanation.Subscription {
  /// Why its owner owns it, in words; nil if no one owns it.
  var ownership: String? {
    let parts = ownerEvidence.split(separator: ":", maxSplits: 1).map(String.init)
    switch parts.first {
    case nil, "none", "contested", "deleted_account": return nil
    case "claim":
      return "it claimed the purchase (decision \(parts.last ?? "")) and no other account owned it"
    case "transfer": return "an operator transferred it (decision \(parts.last ?? ""))"
    case "predecessor": return "it continues a purchase of the account"
    case "transaction", "purchase": return "its id is in the \(ownerEvidence)"
    default: return "its id is in the metadata of the \(ownerEvidence)"
    }
  }
}
