internal import Base
internal import Ledger
internal import Storage
internal import Subscriptions
internal import Sync
internal import Tiers

/// An explanation for people: what holds now, then from when to when, then why.
enum ExplanationText {
  static func text(_ explanation: EntitlementExplanation, of account: Account) -> String {
    let current = explanation.current
    var text = """
      account   \(account.id)\(account.username.map { " (\($0))" } ?? "")
      at        \(explanation.now)
      used      \(size(account.usageByteCount))
      cap       \(size(current.capByteCount)), plan \(current.planID)
      because   \(current.reason.rawValue): \(sentence(current.reason))

      """
    if let derived = explanation.derived {
      text += "derived   \(derived.at), catalogue \(derived.catalogueVersion), "
      text += "policy \(derived.policyVersion)\n"
    } else {
      text += "derived   never: no subscription of this account is known\n"
    }
    if let since = explanation.paysTwiceSince {
      text += "attention pays for more than one subscription since \(since); caps never add up\n"
    }
    text += "\nschedule\n" + indented(schedule(explanation).text)
    for grant in explanation.grants {
      text += "\ngrant \(grant.id): \(grant.planID) from \(grant.from) until "
      text += "\(grant.until?.description ?? "further notice")\n"
      text += "  note: \(Printable.text(grant.note))\n"
    }
    if !explanation.decisions.isEmpty {
      text += "\ndecisions, newest first\n" + indented(decisions(explanation.decisions).text)
    }
    for subscription in explanation.subscriptions { text += "\n" + self.subscription(subscription) }
    return text
  }

  private static func schedule(_ explanation: EntitlementExplanation) -> Table {
    var table = Table(
      ("", .left), ("FROM", .left), ("CAP", .right), ("PLAN", .left), ("REASON", .left))
    for span in explanation.held {
      table.add(
        "held", span.from.description, ByteCount.text(span.capByteCount), span.planID,
        span.reason.rawValue)
    }
    for boundary in explanation.remaining {
      table.add(
        boundary == explanation.current ? "now" : "", boundary.from.description,
        ByteCount.text(boundary.capByteCount), boundary.planID, boundary.reason.rawValue)
    }
    return table
  }

  private static func decisions(_ decisions: [Decided]) -> Table {
    var table = Table(
      ("AT", .left), ("NUMBER", .right), ("DECISION", .left), ("ABOUT", .left), ("NOTE", .left))
    for decided in decisions {
      let about: String =
        switch decided.decision {
        case .claim(let account, let object), .transfer(let account, let object, _):
          "\(object) to \(account)"
        case .grant, .ungrant, .quota, .quotaCleared, .accountDeleted: decided.about
        }
      table.add(
        decided.at.description, String(decided.sequence), decided.word, about,
        decided.decision.note ?? "")
    }
    return table
  }

  private static func subscription(_ subscription: EntitlementExplanation.Subscription) -> String {
    var text = "\(subscription.key): \(subscription.label.rawValue)"
    text += subscription.willRenew ? ", renews" : ", does not renew"
    if subscription.isDirty { text += ", contradicting states: to be read from the provider" }
    if subscription.environment == .sandbox { text += ", sandbox" }
    text += "\n  the account's own: \(ownership(subscription.ownerEvidence))\n"
    for product in subscription.unmappedProducts {
      text += "  \(Printable.text(product)) is in no catalogue any more: "
      text += "it keeps the plan that it had\n"
    }
    for read in subscription.openReads { text += "  \(sentence(read))\n" }
    if !subscription.intervals.isEmpty {
      var table = Table(
        ("FROM", .left), ("TO", .left), ("PLAN", .left), ("WHY", .left), ("EVIDENCE", .left),
        ("DELIVERED BY", .left))
      for interval in subscription.intervals {
        table.add(
          interval.from.description, interval.to.description, interval.planID,
          interval.why.rawValue, "\(interval.evidence.kind.rawValue) \(interval.evidence.id)",
          interval.deliveries.map(\.deliveryID).joined(separator: ", "))
      }
      text += "\n  owed\n" + indented(table.text)
    }
    if !subscription.deliveries.isEmpty {
      var table = Table(
        ("DELIVERY", .left), ("TYPE", .left), ("CREATED", .left), ("RECEIVED", .left))
      for delivery in subscription.deliveries {
        table.add(
          delivery.deliveryID, delivery.type, delivery.created?.description ?? "-",
          delivery.received.description)
      }
      text += "\n  its state, as delivered by\n" + indented(table.text)
    }
    if !subscription.transitions.isEmpty {
      var table = Table(("AT", .left), ("CHANGE", .left), ("CAUSE", .left))
      for transition in subscription.transitions {
        table.add(
          transition.at.description, "\(transition.before) -> \(transition.after)",
          transition.cause)
      }
      text += "\n  what happened, newest first\n" + indented(table.text)
    }
    return text
  }

  private static func sentence(_ read: EntitlementExplanation.OpenRead) -> String {
    var text = "to be read from the provider, "
    text += read.due.map { "next at \($0)" } ?? "given up"
    if let since = read.unansweredSince { text += "; no answer since \(since)" }
    if read.attempts > 0 { text += "; \(read.attempts) attempts failed in a row" }
    if let error = read.lastError { text += "; the last: \(Printable.text(error))" }
    return text
  }

  private static func ownership(_ evidence: String) -> String {
    let parts = evidence.split(separator: ":", maxSplits: 1).map(String.init)
    return switch parts.first {
    case "claim": "it claimed the purchase (decision \(parts.last ?? "")) and nobody else owned it"
    case "transfer": "an admin transferred it (decision \(parts.last ?? ""))"
    case "predecessor": "it continues a purchase of the account"
    case "transaction", "purchase": "its id stands in the \(evidence)"
    default: "its id stands in the metadata of the \(evidence)"
    }
  }

  private static func size(_ count: Int64) -> String {
    count < 1000 ? ByteCount.text(count) : "\(ByteCount.text(count)) (\(count) bytes)"
  }

  private static func indented(_ text: String) -> String {
    text.split(separator: "\n").map { "    \($0)\n" }.joined()
  }

  private static func sentence(_ reason: CapReason) -> String {
    switch reason {
    case .neverSubscribed: "no plan was ever owed"
    case .subscribed: "the period is paid"
    case .contested: "the period is paid, and the customer's bank contests the payment"
    case .trial: "a trial runs"
    case .grace: "a payment is failing and access is kept for a while"
    case .leeway: "the renewal has not been seen yet"
    case .storeUnreachable: "the renewal has not been seen yet and the store does not answer"
    case .courtesy: "kept by policy though no money came"
    case .granted: "given by an admin"
    case .paymentFailed: "a payment failed; a new card brings the plan back"
    case .lapsed: "ended by the customer or by time"
    case .quotaSet: "set by an admin, in place of what is owed"
    case .grantRevoked: "a plan given by an admin was taken back"
    case .refunded: "the payment was refunded"
    case .disputed: "the customer's bank contests the payment"
    }
  }
}
