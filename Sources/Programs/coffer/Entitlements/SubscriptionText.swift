import Answers
import Base
import CommandLine
import Ledger
import ProviderAPI
import Subscriptions
import Tiers

/// One subscription of an explanation: its owner, its products, the money, what it is owed, and its history.
struct SubscriptionText {
  let subscription: EntitlementExplanation.Subscription
  /// The text about its owner; nil if that is shown elsewhere.
  let owned: String?
  let now: Instant
  /// The moment in question: `now`, or another.
  let moment: Instant
  /// The plan that an unknown product counts as; nil: it gives no storage.
  let fallbackPlanID: String?
  let isWide: Bool

  /// The most payments that are shown; `--json` has all.
  private static let paymentCountMax = 24

  var text: String {
    let (payments, countMax) = (subscription.bill.payments, Self.paymentCountMax)
    let reversals = subscription.bill.reversals.prefix(countMax)
    var text = head + sentences.map { ExplainedAccount.line($0) }.joined()
    text += table(
      "payments, newest first", ExplanationListings.payments, Array(payments.prefix(countMax)))
    if payments.count > countMax { text += "    \(countMax) of \(payments.count)\n" }
    text += table(
      "refunded and disputed, newest first", ExplanationListings.reversals, Array(reversals))
    text += table("owed", ExplanationListings.owed, subscription.intervals)
    text += table(
      "its state, as delivered by", ExplanationListings.deliveries, subscription.deliveries)
    text += table(
      "what happened, newest first", ExplanationListings.transitions, subscription.transitions)
    return text
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
    let room = ExplainedAccount.widthMax - text.count - 2
    return (isWide ? key : Folded.text(key, to: max(room, 40))) + ": \(text)\n"
  }

  private func table<Row>(_ title: String, _ listing: Listing<Row>, _ rows: [Row]) -> String {
    rows.isEmpty ? "" : "\n  \(title)\n" + listing.table(rows, at: now).indented(isWide: isWide)
  }

  // MARK: sentences

  /// What the tables do not show.
  private var sentences: [String] {
    let store = subscription.store
    var sentences = [owned].compactMap { $0 } + subscription.bill.items.map(sentence)
    if let next = subscription.next { sentences.append(sentence(next)) }
    if subscription.bill.isScheduled {
      sentences.append("\(store) has a schedule for it: it may be another with the next period")
    }
    if let pause = subscription.pause { sentences.append(sentence(pause)) }
    let counts = fallbackPlanID.map { "it counts as the plan \($0)" } ?? "it gives no storage"
    sentences += subscription.unknownProducts.map {
      "\(Printable.text($0)) is in no catalogue: \(counts)"
    }
    sentences += subscription.unmappedProducts.map {
      "\(Printable.text($0)) is no longer in the catalogue: it keeps the plan that it had"
    }
    sentences += subscription.attention.filter { !Self.told.contains($0.kind) }.map {
      "needs attention since \($0.since): " + Printable.text("\($0.kind.rawValue) \($0.detail)")
    }
    sentences += subscription.openReads.map { Self.sentence($0, from: store) }
    if let end = subscription.acknowledgedBy {
      let hours = max(0, (end - now).milliseconds / Instant.Span.hours(1).milliseconds)
      sentences.append(
        "\(store) does not know that it was delivered, and will refund it at \(end), "
          + "in \(hours) hours")
    }
    return sentences
  }

  /// The kinds of attention that other sentences are about.
  private static let told: Set<Attention.Kind> = [
    .contradiction, .unknownProduct, .unmappedProduct,
  ]

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
    "for " + names(item) + (item.isLeaving ? ", until it renews" : "")
      + (subscription.ignoredItems.contains(item)
        ? ", which the catalogue ignores: it gives no storage" : "")
  }

  static func sentence(_ read: EntitlementExplanation.OpenRead, from store: String) -> String {
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
