import Accounts
import Acts
import Answers
import Base
import CommandLine
import JSON
import Ledger
import ProviderAPI
import Subscriptions
import Tiers

/// What an explanation lists: for programs everything, with exact byte counts, and the tables of its text.
enum ExplanationListings {
  static var account: Listing<ExplainedAccount> {
    Listing([
      .text("account") { $0.account.id.description },
      .optionalText("username") { $0.account.username }, .time("at") { $0.explanation.now },
      .integer("usage") { $0.account.usageByteCount }, .texts("sentences") { $0.sentences },
      .object("current", schedule) { $0.explanation.current },
      .time("asked") { $0.explanation.moment },
      .optionalObject("held_then", schedule) { $0.explanation.heldThen },
      .object("owed_then", schedule) { $0.explanation.owedThen },
      .list("held", held) { $0.explanation.held },
      .list("schedule", schedule) { $0.explanation.remaining },
      .optionalObject("derived", derived) { $0.explanation.derived },
      .optionalObject("catalogue_of_record", catalogueOfRecord) {
        $0.explanation.catalogueOfRecord
      },
      .optionalTime("pays_twice_since") { $0.explanation.paysTwiceSince },
      .optionalObject("paid_twice", PaidTwiceText.listing) { $0.explanation.paidTwice },
      .optionalTime("erased") { $0.explanation.erased },
      .optionalTime("suspended") { $0.explanation.suspended },
      .optionalTime("leaving") { $0.explanation.leaving },
      .optionalTime("erases") { $0.explanation.erases },
      Column("deletion_parts", .orNull(DeletionParts.shape)) {
        $0.explanation.deletionParts?.json ?? .null
      },
      .list("grants", grants) { $0.explanation.grants },
      .list("decisions", decisions) { $0.decisions },
      .list("refused_claims", RefusedClaimText.listing) { $0.explanation.refusedClaims },
      .list("unread", unread) { $0.explanation.unread },
      .list("subscriptions", subscription) { $0.explanation.subscriptions },
    ])
  }

  private static var schedule: Listing<Schedule.Boundary> {
    Listing([.optionalTime("from") { $0.from }] + ChangeText.caps.columns(of: { $0 }))
  }

  private static var held: Listing<Schedule.Span> {
    Listing([
      .optionalTime("from") { $0.from }, .optionalTime("to") { $0.to },
      .integer("cap") { $0.capByteCount }, .text("plan") { $0.planID },
      .text("reason") { $0.reason.rawValue },
    ])
  }

  private static var derived:
    Listing<(policyVersion: String, catalogueVersion: String, at: Instant)>
  {
    Listing([
      .time("at") { $0.at }, .text("catalogue") { $0.catalogueVersion },
      .text("policy") { $0.policyVersion },
    ])
  }

  private static var catalogueOfRecord: Listing<(number: Int64, since: Instant)> {
    Listing([
      .integer("number") { $0.number }, .time("since") { $0.since },
    ])
  }

  private static var grants: Listing<Grant> {
    Listing([
      .text("grant") { $0.id.description }, .text("plan") { $0.planID },
      .optionalTime("from") { $0.from }, .optionalTime("until") { $0.until },
      .text("note") { $0.note },
    ])
  }

  static var decisions: Listing<(decided: Decided, actor: String?)> {
    Listing([
      .optionalTime("at", "AT") { $0.decided.at },
      .integer("decision", "NUMBER") { $0.decided.sequence },
      .text("kind", "DECISION") { $0.decided.word },
      .text("account") { $0.decided.decision.account.description },
      .text("about", "ABOUT", .folded, cell: { $0.decided.about + $0.decided.recipient }) {
        $0.decided.about
      },
      .optionalText("actor", "BY") { $0.actor },
      .optionalText("note", "REASON", .wrapped, absent: "") { $0.decided.decision.note },
    ])
  }

  private static var unread: Listing<EntitlementExplanation.Unread> {
    Listing([
      .text("subscription") { $0.key.description }, .text("store") { $0.store },
      .list("open_reads", openReads) { [$0.read] },
    ])
  }

  // MARK: one subscription

  static var subscription: Listing<EntitlementExplanation.Subscription> {
    Listing([
      .text("subscription") { $0.key.description }, .text("store") { $0.store },
      .text("environment") { $0.environment.rawValue }, .text("label") { $0.label.rawValue },
      .bool("will_renew") { $0.willRenew }, .text("label_then") { $0.labelThen.rawValue },
      .bool("dirty") { $0.isDirty }, .text("owner_evidence") { $0.ownerEvidence },
      .list("owed", owed) { $0.intervals },
      .list("items", items) { one in one.bill.items.map { ($0, one.ignoredItems.contains($0)) } },
      .optionalObject("renews_as", next) { $0.next }, .bool("scheduled") { $0.bill.isScheduled },
      .optionalObject("paused", pause) { $0.pause },
      .list("payments", payments) { $0.bill.payments },
      .list("reversals", reversals) { $0.bill.reversals },
      .optionalTime("acknowledged_by") { $0.acknowledgedBy },
      .list("deliveries", deliveries) { $0.deliveries },
      .texts("unmapped_products") { $0.unmappedProducts },
      .texts("unknown_products") { $0.unknownProducts },
      .list("attention", attention) { $0.attention },
      .list("open_reads", openReads) { $0.openReads },
      .list("transitions", transitions) { $0.transitions },
    ])
  }

  static var owed: Listing<EntitlementExplanation.Interval> {
    Listing([
      .optionalTime("from", "FROM") { $0.from }, .optionalTime("to", "TO") { $0.to },
      .text("plan", "PLAN") { $0.planID }, .text("reason", "WHY") { $0.why.rawValue },
      .text(
        "evidence", "EVIDENCE", .folded, cell: { "\($0.evidence.kind.rawValue) \($0.evidence.id)" }
      ) {
        $0.evidence.description
      },
      Column(
        "deliveries", .list(deliveries.item), "DELIVERED BY", .folded,
        json: { .array($0.deliveries.map(deliveries.json)) },
        cell: { row, _ in row.deliveries.map(\.deliveryID).joined(separator: ", ") }),
    ])
  }

  private static var items: Listing<(item: Bill.Item, isIgnored: Bool)> {
    Listing([
      .optionalText("product") { $0.item.product }, .optionalText("price") { $0.item.price },
      .bool("leaving") { $0.item.isLeaving }, .bool("ignored") { $0.isIgnored },
    ])
  }

  private static var next: Listing<EntitlementExplanation.Next> {
    Listing([
      .optionalText("product") { $0.item.product }, .optionalText("price") { $0.item.price },
      .optionalText("plan") { $0.plan?.id },
    ])
  }

  private static var pause: Listing<Pause> {
    Listing([
      .optionalTime("since") { $0.since }, .optionalTime("until") { $0.until },
      .text("reason") { $0.reason.rawValue },
    ])
  }

  static var payments: Listing<Bill.Payment> {
    Listing([
      .optionalTime("at", "AT") { $0.at }, .evidence("object", "BY") { $0.object },
      .text("state") { $0.state.rawValue },
      .money("amount", "AMOUNT", cell: { $0.irregular.map { "\($0.came.amount) of \($0.asked)" } })
      {
        $0.amount
      },
      .money("asked") { $0.irregular?.asked }, .money("came") { $0.irregular?.came },
      .text("word", "STATE") { $0.word }, .optionalText("product", "FOR", .folded) { $0.product },
      .day("from", "FROM") { $0.from }, .day("to", "TO") { $0.to },
    ])
  }

  static var reversals: Listing<Bill.Reversal> {
    Listing([
      .optionalTime("at", "AT") { $0.at }, .text("kind", "WHAT") { $0.kind.rawValue },
      .money("amount", "AMOUNT") { $0.amount }, .text("word", "STATE") { $0.word },
      .text("state", "", cell: { $0.state == .open ? "open" : "" }) { $0.state.rawValue },
      .evidence("object", "BY") { $0.object },
    ])
  }

  static var deliveries: Listing<EntitlementExplanation.Delivery> {
    Listing([
      .integer("number") { $0.id }, .text("delivery", "DELIVERY", .folded) { $0.deliveryID },
      .text("type", "TYPE", .folded) { $0.type },
      .optionalTime("created", "CREATED") { $0.created },
      .optionalTime("received", "RECEIVED") { $0.received },
    ])
  }

  private static var attention: Listing<Attention> {
    Listing([
      .text("kind") { $0.kind.rawValue }, .text("detail") { $0.detail },
      .time("since") { $0.since },
    ])
  }

  private static var openReads: Listing<EntitlementExplanation.OpenRead> {
    Listing([
      .optionalText("reason") { $0.reason },
      .optionalTime("carried_on_until") { $0.carriedOnUntil },
      .optionalTime("unanswered_since") { $0.unansweredSince }, .optionalTime("due") { $0.due },
      .integer("attempts") { Int64($0.attempts) }, .optionalText("last_error") { $0.lastError },
      .optionalText("cause") { $0.cause?.rawValue },
    ])
  }

  static var transitions: Listing<EntitlementExplanation.Transition> {
    Listing([
      .optionalTime("at", "AT") { $0.at }, .optionalTime("noticed", "NOTICED") { $0.noticed },
      .text("before", "CHANGE", .folded, cell: { "\($0.before) -> \($0.after)" }) { $0.before },
      .text("after") { $0.after }, .text("cause", "CAUSE") { $0.cause },
      Column("number", .orNull(.integer)) { $0.entry.map { .integer($0) } ?? .null },
    ])
  }
}

extension Column {
  /// Null, or `-`, if it is unknown. `cell` shows more than the amount, if it is not nil.
  static func money(
    _ name: String, _ title: String? = nil, cell: @escaping (Row) -> String? = { _ in nil },
    _ value: @escaping (Row) -> Money?
  ) -> Column {
    Column(
      name, .orNull(["amount": .text, "currency": .text]), title, .right,
      json: { row in
        value(row).map { ["amount": .string($0.amount), "currency": .string($0.currency)] } ?? .null
      },
      cell: { row, _ in cell(row) ?? value(row)?.description ?? "-" })
  }

  fileprivate static func evidence(
    _ name: String, _ title: String, _ value: @escaping (Row) -> Coverage.Evidence
  ) -> Column {
    .text(name, title, .folded) { "\(value($0).kind.rawValue) \(value($0).id)" }
  }

  /// A time of which the table shows the day only.
  fileprivate static func day(
    _ name: String, _ title: String, _ value: @escaping (Row) -> Instant?
  ) -> Column {
    Column(
      name, .orNull(.time), title, json: { value($0).map(JSONValue.moment) ?? .null },
      cell: { row, _ in value(row).map { String($0.description.prefix(10)) } ?? "-" })
  }
}

extension Decided {
  /// The command's name for the decision.
  fileprivate var word: String {
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
  fileprivate var about: String {
    switch decision {
    case .grant: id.description
    case .ungrant(_, let grant, _): grant.description
    case .quota(_, let byteCount, let until, _):
      ByteCount.text(byteCount) + (until.map { " until \($0)" } ?? "")
    case .quotaCleared(let account, _), .accountDeleted(let account): account.description
    case .claim(_, let object), .transfer(_, let object, _): object.description
    }
  }

  fileprivate var recipient: String {
    switch decision {
    case .claim, .transfer: " to \(decision.account)"
    case .grant, .ungrant, .quota, .quotaCleared, .accountDeleted: ""
    }
  }
}
