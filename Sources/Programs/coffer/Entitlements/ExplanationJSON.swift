internal import Accounts
internal import Acts
internal import Answers
internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import ProviderAPI
internal import Subscriptions
internal import Sync
internal import Tiers

/// An explanation for programs: everything that the text says, with exact byte counts.
enum ExplanationJSON {
  static let shape: JSONShape = [
    "account": .text, "username": .orNull(.text), "at": .time, "usage": .integer,
    "sentences": .list(.text),
    "current": boundaryShape,
    "asked": .time, "held_then": .orNull(boundaryShape), "owed_then": boundaryShape,
    "held": .list(spanShape),
    "schedule": .list(boundaryShape),
    "derived": .orNull(["at": .time, "catalogue": .text, "policy": .text]),
    "catalogue_of_record": .orNull(["number": .integer, "since": .time]),
    "pays_twice_since": .orNull(.time), "paid_twice": .orNull(PaidTwiceText.shape),
    "erased": .orNull(.time), "suspended": .orNull(.time),
    "leaving": .orNull(.time), "erases": .orNull(.time),
    "deletion_parts": .orNull(DeletionParts.shape),
    "grants": .list([
      "grant": .text, "plan": .text, "from": moment, "until": moment, "note": .text,
    ]),
    "decisions": .list([
      "decision": .integer, "at": moment, "kind": .text, "account": .text, "about": .text,
      "actor": .orNull(.text), "note": .orNull(.text),
    ]),
    "refused_claims": .list(RefusedClaimText.shape),
    "unread": .list(["subscription": .text, "store": .text, "open_reads": .list(readShape)]),
    "subscriptions": .list(subscriptionShape),
  ]

  private static let moment = JSONShape.orNull(.time)
  private static let moneyShape = JSONShape.orNull(["amount": .text, "currency": .text])
  private static let boundaryShape: JSONShape = [
    "from": moment, "cap": .integer, "plan": .text, "reason": .text,
  ]
  private static let spanShape: JSONShape = [
    "from": moment, "to": moment, "cap": .integer, "plan": .text, "reason": .text,
  ]
  private static let deliveryShape: JSONShape = [
    "number": .integer, "delivery": .text, "type": .text, "created": moment, "received": moment,
  ]
  private static let readShape: JSONShape = [
    "reason": .orNull(.text), "carried_on_until": moment,
    "unanswered_since": moment, "due": moment, "attempts": .integer,
    "last_error": .orNull(.text), "cause": .orNull(.text),
  ]
  static let subscriptionShape: JSONShape = [
    "subscription": .text, "store": .text, "environment": .text, "label": .text,
    "will_renew": .bool, "label_then": .text, "dirty": .bool, "owner_evidence": .text,
    "owed": .list([
      "from": moment, "to": moment, "plan": .text, "reason": .text, "evidence": .text,
      "deliveries": .list(deliveryShape),
    ]),
    "items": .list([
      "product": .orNull(.text), "price": .orNull(.text), "leaving": .bool, "ignored": .bool,
    ]),
    "renews_as": .orNull([
      "product": .orNull(.text), "price": .orNull(.text), "plan": .orNull(.text),
    ]),
    "scheduled": .bool,
    "paused": .orNull(["since": moment, "until": moment, "reason": .text]),
    "payments": .list([
      "at": moment, "object": .text, "state": .text, "word": .text, "amount": moneyShape,
      "asked": moneyShape, "came": moneyShape, "product": .orNull(.text), "from": moment,
      "to": moment,
    ]),
    "reversals": .list([
      "at": moment, "object": .text, "kind": .text, "state": .text, "word": .text,
      "amount": moneyShape,
    ]),
    "acknowledged_by": moment,
    "deliveries": .list(deliveryShape),
    "unmapped_products": .list(.text), "unknown_products": .list(.text),
    "attention": .list(["kind": .text, "detail": .text, "since": .time]),
    "open_reads": .list(readShape),
    "transitions": .list([
      "at": moment, "noticed": moment, "cause": .text, "before": .text, "after": .text,
      "number": .orNull(.integer),
    ]),
  ]

  static func value(
    _ explanation: EntitlementExplanation, of account: Account, _ actors: [Int64: String]
  ) -> JSONValue {
    [
      "account": .string(account.id.description),
      "username": account.username.map { .string($0) } ?? .null,
      "at": .string(explanation.now.description), "usage": .integer(account.usageByteCount),
      "sentences": .array(
        explanation.sentences(usedByteCount: account.usageByteCount).map { .string($0) }),
      "current": boundary(explanation.current),
      "asked": .moment(explanation.moment),
      "held_then": explanation.heldThen.map(boundary) ?? .null,
      "owed_then": boundary(explanation.owedThen),
      "held": .array(explanation.held.map(span)),
      "schedule": .array(explanation.remaining.map(boundary)),
      "derived": explanation.derived.map { derived in
        [
          "at": .string(derived.at.description),
          "catalogue": .string(derived.catalogueVersion), "policy": .string(derived.policyVersion),
        ]
      } ?? .null,
      "catalogue_of_record": explanation.catalogueOfRecord.map { record in
        ["number": .integer(record.number), "since": .string(record.since.description)]
      } ?? .null,
      "pays_twice_since": explanation.paysTwiceSince.map { .string($0.description) } ?? .null,
      "paid_twice": explanation.paidTwice.map(PaidTwiceText.json) ?? .null,
      "erased": explanation.erased.map { .string($0.description) } ?? .null,
      "suspended": explanation.suspended.map { .string($0.description) } ?? .null,
      "leaving": explanation.leaving.map { .string($0.description) } ?? .null,
      "erases": explanation.erases.map { .string($0.description) } ?? .null,
      "deletion_parts": explanation.deletionParts?.json ?? .null,
      "grants": .array(explanation.grants.map(grant)),
      "decisions": .array(
        explanation.decisions.map { decided($0, by: actors[$0.sequence]) }),
      "refused_claims": .array(explanation.refusedClaims.map(RefusedClaimText.json)),
      "unread": .array(
        explanation.unread.map { unread in
          [
            "subscription": .string(unread.key.description), "store": .string(unread.store),
            "open_reads": .array([openRead(unread.read)]),
          ]
        }),
      "subscriptions": .array(explanation.subscriptions.map(subscription)),
    ]
  }

  private static func boundary(_ boundary: Schedule.Boundary) -> JSONValue {
    [
      "from": .moment(boundary.from), "cap": .integer(boundary.capByteCount),
      "plan": .string(boundary.planID),
      "reason": .string(boundary.reason.rawValue),
    ]
  }

  private static func span(_ span: Schedule.Span) -> JSONValue {
    [
      "from": .moment(span.from), "to": .moment(span.to), "cap": .integer(span.capByteCount),
      "plan": .string(span.planID), "reason": .string(span.reason.rawValue),
    ]
  }

  private static func grant(_ grant: Grant) -> JSONValue {
    [
      "grant": .string(grant.id.description), "plan": .string(grant.planID),
      "from": .moment(grant.from), "until": grant.until.map(JSONValue.moment) ?? .null,
      "note": .string(grant.note),
    ]
  }

  private static func decided(_ decided: Decided, by actor: String?) -> JSONValue {
    [
      "decision": .integer(decided.sequence), "at": .moment(decided.at),
      "kind": .string(decided.word), "account": .string(decided.decision.account.description),
      "about": .string(decided.about), "actor": optional(actor),
      "note": decided.decision.note.map { .string($0) } ?? .null,
    ]
  }

  static func subscription(
    _ subscription: EntitlementExplanation.Subscription
  ) -> JSONValue {
    [
      "subscription": .string(subscription.key.description),
      "store": .string(subscription.store),
      "environment": .string(subscription.environment.rawValue),
      "label": .string(subscription.label.rawValue), "will_renew": .bool(subscription.willRenew),
      "label_then": .string(subscription.labelThen.rawValue),
      "dirty": .bool(subscription.isDirty),
      "owner_evidence": .string(subscription.ownerEvidence),
      "owed": .array(subscription.intervals.map(interval)),
      "items": .array(
        subscription.bill.items.map { item($0, subscription.ignoredItems.contains($0)) }),
      "renews_as": subscription.next.map(next) ?? .null,
      "scheduled": .bool(subscription.bill.isScheduled),
      "paused": subscription.pause.map(pause) ?? .null,
      "payments": .array(subscription.bill.payments.map(payment)),
      "reversals": .array(subscription.bill.reversals.map(reversal)),
      "acknowledged_by": subscription.acknowledgedBy.map(JSONValue.moment) ?? .null,
      "deliveries": .array(subscription.deliveries.map(delivery)),
      "unmapped_products": .array(subscription.unmappedProducts.map { .string($0) }),
      "unknown_products": .array(subscription.unknownProducts.map { .string($0) }),
      "attention": .array(subscription.attention.map(attention)),
      "open_reads": .array(subscription.openReads.map(openRead)),
      "transitions": .array(subscription.transitions.map(transition)),
    ]
  }

  private static func openRead(_ read: EntitlementExplanation.OpenRead) -> JSONValue {
    [
      "reason": optional(read.reason),
      "carried_on_until": read.carriedOnUntil.map(JSONValue.moment) ?? .null,
      "unanswered_since": read.unansweredSince.map(JSONValue.moment) ?? .null,
      "due": read.due.map(JSONValue.moment) ?? .null, "attempts": .integer(Int64(read.attempts)),
      "last_error": read.lastError.map { .string($0) } ?? .null,
      "cause": optional(read.cause?.rawValue),
    ]
  }

  private static func item(_ item: Bill.Item, _ isIgnored: Bool) -> JSONValue {
    [
      "product": optional(item.product), "price": optional(item.price),
      "leaving": .bool(item.isLeaving), "ignored": .bool(isIgnored),
    ]
  }

  private static func next(_ next: EntitlementExplanation.Next) -> JSONValue {
    [
      "product": optional(next.item.product), "price": optional(next.item.price),
      "plan": optional(next.plan?.id),
    ]
  }

  private static func pause(_ pause: Pause) -> JSONValue {
    [
      "since": pause.since.map(JSONValue.moment) ?? .null,
      "until": pause.until.map(JSONValue.moment) ?? .null, "reason": .string(pause.reason.rawValue),
    ]
  }

  private static func attention(_ item: Attention) -> JSONValue {
    [
      "kind": .string(item.kind.rawValue), "detail": .string(item.detail),
      "since": .string(item.since.description),
    ]
  }

  private static func payment(_ payment: Bill.Payment) -> JSONValue {
    [
      "at": .moment(payment.at), "object": .string(text(payment.object)),
      "state": .string(payment.state.rawValue), "word": .string(payment.word),
      "amount": money(payment.amount), "asked": money(payment.irregular?.asked),
      "came": money(payment.irregular?.came), "product": optional(payment.product),
      "from": payment.from.map(JSONValue.moment) ?? .null,
      "to": payment.to.map(JSONValue.moment) ?? .null,
    ]
  }

  private static func reversal(_ reversal: Bill.Reversal) -> JSONValue {
    [
      "at": .moment(reversal.at), "object": .string(text(reversal.object)),
      "kind": .string(reversal.kind.rawValue), "state": .string(reversal.state.rawValue),
      "word": .string(reversal.word), "amount": money(reversal.amount),
    ]
  }

  private static func money(_ money: Money?) -> JSONValue {
    guard let money else { return .null }
    return ["amount": .string(money.amount), "currency": .string(money.currency)]
  }

  private static func text(_ evidence: Coverage.Evidence) -> String {
    "\(evidence.kind.rawValue) \(evidence.id)"
  }

  private static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }

  private static func interval(_ interval: EntitlementExplanation.Interval) -> JSONValue {
    [
      "from": .moment(interval.from), "to": .moment(interval.to), "plan": .string(interval.planID),
      "reason": .string(interval.why.rawValue),
      "evidence": .string(interval.evidence.description),
      "deliveries": .array(interval.deliveries.map(delivery)),
    ]
  }

  private static func delivery(_ delivery: EntitlementExplanation.Delivery) -> JSONValue {
    [
      "number": .integer(delivery.id), "delivery": .string(delivery.deliveryID),
      "type": .string(delivery.type),
      "created": delivery.created.map(JSONValue.moment) ?? .null,
      "received": .moment(delivery.received),
    ]
  }

  private static func transition(_ transition: EntitlementExplanation.Transition) -> JSONValue {
    [
      "at": .moment(transition.at), "noticed": .moment(transition.noticed),
      "cause": .string(transition.cause),
      "before": .string(transition.before), "after": .string(transition.after),
      "number": transition.entry.map { .integer($0) } ?? .null,
    ]
  }
}

extension Decided {
  /// The command's name for the decision.
  var word: String {
    switch decision {
    case .grant: "grant"
    case .ungrant: "revoke"
    case .quota: "quota set"
    case .quotaCleared: "quota clear"
    case .claim: "claim"
    case .transfer: "transfer"
    case .accountDeleted: "release"
    }
  }

  /// The grant, the subscription or the account that the decision is about.
  var about: String {
    switch decision {
    case .grant: id.description
    case .ungrant(_, let grant, _): grant.description
    case .quota(_, let byteCount, let until, _):
      ByteCount.text(byteCount) + (until.map { " until \($0)" } ?? "")
    case .quotaCleared(let account, _): account.description
    case .claim(_, let object), .transfer(_, let object, _): object.description
    case .accountDeleted(let account): account.description
    }
  }
}
