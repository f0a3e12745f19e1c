internal import Accounts
internal import Acts
internal import Answers
internal import Base
internal import CommandLine
internal import Ledger
internal import Storage
internal import Subscriptions
internal import Sync
internal import Tiers

/// An explanation for people: what to say, what applies now, the times, and the reasons.
struct ExplanationText {
  let explanation: EntitlementExplanation
  let account: Account
  /// The actors of decisions by the decisions' numbers, as far as acts are known.
  let actors: [Int64: String]
  /// Whether ids are printed in full, whatever the width of the lines.
  let isWide: Bool

  /// The width that a terminal, a mail and a ticket have room for.
  static let widthMax = min(100, Terminal.width)

  var text: String {
    let current = explanation.current
    var text = Self.text(of: explanation.sentences(usedByteCount: account.usageByteCount))
    text += """

      account   \(account.id)\(account.username.map { " (\($0))" } ?? "")
      at        \(explanation.now)

      """
    text +=
      explanation.erased.map { "erased    \($0)\n" }
        ?? """
        used      \(size(account.usageByteCount))
        cap       \(size(current.capByteCount)), plan \(current.planID)
        because   \(current.reason.rawValue): \(sentence(current.reason))

        """
    if explanation.erased == nil {
      if let suspended = explanation.suspended { text += "suspended \(suspended)\n" }
      if let leaving = explanation.leaving {
        text +=
          "leaving   \(leaving), is erased from \(explanation.erases?.description ?? "its export") on\n"
        text += explanation.deletionParts.map { "          \($0.text)\n" } ?? ""
      }
    }
    if explanation.moment != explanation.now { text += asked }
    if let derived = explanation.derived {
      text += "derived   \(derived.at), catalogue \(derived.catalogueVersion), "
      text += "policy \(derived.policyVersion)\n"
    } else {
      text += "derived   never: no subscription of this account is known\n"
    }
    if let record = explanation.catalogueOfRecord, record.number > 1 {
      text += "plans     by catalogue \(record.number) of record, since \(record.since): "
      text += "coffer plan history\n"
    }
    if let since = explanation.paysTwiceSince {
      text += "attention pays for more than one subscription since \(since); caps never add up\n"
      if let paid = explanation.paidTwice {
        text += Prose.text(
          Printable.text(PaidTwiceText.sentence(paid)), indent: "          ", width: Self.widthMax)
      }
    }
    text += "\nschedule\n" + indented(schedule)
    for grant in explanation.grants { text += "\n" + self.grant(grant) }
    if !explanation.decisions.isEmpty {
      text += "\ndecisions, newest first\n" + indented(decisions)
    }
    if !explanation.refusedClaims.isEmpty {
      text += "\nrefused claims, newest first\n"
      text += indented(RefusedClaimText.table(explanation.refusedClaims, at: explanation.now))
    }
    for unread in explanation.unread {
      text += "\n\(unread.key): not read yet\n"
      text += Prose.text(
        SubscriptionText.sentence(unread.read, from: unread.store), indent: "  ",
        width: Self.widthMax)
    }
    for subscription in explanation.subscriptions {
      text +=
        "\n"
        + SubscriptionText(
          subscription, owned: subscription.ownership.map { "the account's own: \($0)" },
          at: explanation.now, about: explanation.moment,
          fallbackPlanID: explanation.catalogue.fallbackPlanID, isWide: isWide
        ).text
    }
    return text
  }

  /// Each sentence on its own lines.
  static func text(of sentences: [String]) -> String {
    sentences.map { Prose.lines($0, width: widthMax).joined(separator: "\n") + "\n" }.joined()
  }

  /// What applied at the moment in question, and what is known of it now.
  private var asked: String {
    let owed = explanation.owedThen
    func told(_ boundary: Schedule.Boundary) -> String {
      "\(size(boundary.capByteCount)), plan \(boundary.planID), \(boundary.reason.rawValue)"
    }
    guard let held = explanation.heldThen else {
      let then = explanation.isErasedThen ? "erased" : told(owed)
      return "\nasked     \(explanation.moment)\nthen      \(then), without further events\n\n"
    }
    return "\nasked     \(explanation.moment)\nheld      \(told(held))\nowed      \(told(owed)), "
      + "by present knowledge\n\n"
  }

  private var schedule: Table {
    var table = Table(
      ("", .left), ("FROM", .left), ("CAP", .right), ("PLAN", .left), ("REASON", .left))
    for span in explanation.held {
      table.add(
        "held", time(span.from), ByteCount.text(span.capByteCount), span.planID,
        span.reason.rawValue)
    }
    for boundary in explanation.remaining {
      table.add(
        boundary == explanation.current ? "now" : "", time(boundary.from),
        ByteCount.text(boundary.capByteCount), boundary.planID, boundary.reason.rawValue)
    }
    return table
  }

  private func grant(_ grant: Grant) -> String {
    "grant \(grant.id): \(grant.planID)\n"
      + "  from \(grant.from) until \(grant.until?.description ?? "further notice")\n"
      + Prose.text("note: \(Printable.text(grant.note))", indent: "  ", width: Self.widthMax)
  }

  private var decisions: Table {
    var table = Table(
      ("AT", .left), ("NUMBER", .right), ("DECISION", .left), ("ABOUT", .folded), ("BY", .left),
      ("REASON", .wrapped))
    for decided in explanation.decisions {
      let about: String =
        switch decided.decision {
        case .claim(let account, let object), .transfer(let account, let object, _):
          "\(object) to \(account)"
        case .grant, .ungrant, .quota, .quotaCleared, .accountDeleted: decided.about
        }
      table.add(
        time(decided.at), String(decided.sequence), decided.word, about,
        actors[decided.sequence] ?? "-", decided.decision.note ?? "")
    }
    return table
  }

  private func size(_ count: Int64) -> String {
    count < 1000 ? ByteCount.text(count) : "\(ByteCount.text(count)) (\(count) bytes)"
  }

  private func indented(_ table: Table) -> String { table.indented(isWide: isWide) }

  private func time(_ moment: Instant) -> String {
    Terminal.time(moment, now: explanation.now)
  }

  private func sentence(_ reason: CapReason) -> String {
    switch reason {
    case .neverSubscribed: "no plan was ever owed"
    case .subscribed: "the period is paid"
    case .contested: "the period is paid, and the customer's bank disputes the payment"
    case .trial: "a trial runs"
    case .grace: "a payment is failing and access is kept for a while"
    case .leeway: "the renewal has not been seen yet"
    case .storeUnreachable: "the renewal has not been seen yet and the store does not answer"
    case .courtesy: "kept by policy although no money came"
    case .granted: "given by an admin"
    case .paymentFailed where explanation.awaitsPayment:
      "a payment failed; a new card restores the plan"
    case .paymentFailed: "a payment failed, and the subscription ended"
    case .lapsed: "ended by the customer or by time"
    case .quotaSet: "set by an operator, in place of the entitlement"
    case .grantRevoked: "a plan granted by an operator was revoked"
    case .refunded where explanation.isUnshared(explanation.current):
      "the payer no longer shares it with the account"
    case .refunded: "the payment was refunded"
    case .disputed: "the customer's bank disputes the payment"
    }
  }
}

extension Table {
  /// The table below a title. It is no wider than an explanation, unless full ids are wanted.
  func indented(isWide: Bool) -> String {
    let indent = "    "
    return text(width: isWide ? .max : ExplanationText.widthMax - indent.count)
      .split(separator: "\n").map { "\(indent)\($0)\n" }.joined()
  }
}
