internal import Audit
internal import Base
internal import Configuration
internal import JSON
internal import Jobs
internal import Ledger
internal import Storage
internal import Subscriptions

/// What was ordered about a subscription and got no answer of its store's: each was done or not.
///
/// The same again must not be done twice. Until the store's word of the first has come, stores see to that
/// themselves, as long as they remember it; from then on what is known of the subscription tells it.
struct UnansweredOrders: Sendable {
  /// The newest first.
  private let orders: [AuditEntry]
  private let now: Instant
  /// Whether the subscription was read since it was last ordered to be.
  private let isRead: Bool

  /// The step of an entry that says what came of an order.
  enum Outcome: String {
    case done, refused, unanswered
  }

  /// For so long nobody orders the same again without meaning it.
  private static let span = Instant.Span.days(30)
  /// For so long Stripe knows an order again, and an hour less.
  /// https://docs.stripe.com/api/idempotent_requests
  private static let memorySpan = Instant.Span.hours(23)
  private static let entryCountMax = 1000

  init(about key: ObjectKey, at now: Instant, reading reader: Reader) throws {
    var query = AuditQuery()
    query.subject = key.description
    query.since = now - Self.span
    var orders: [AuditEntry] = []
    var done: Set<Purpose> = []
    for entry in try query.entries(after: nil, limit: Self.entryCountMax, reading: reader)
    where entry.isOrder {
      let purpose = try Purpose(entry)
      // What the store answered to the same again, it answered to the first as well.
      guard !done.contains(purpose) else { continue }
      let step = try entry.outcome(reading: reader)?.act.split(separator: " ").last
      switch step.flatMap({ Outcome(rawValue: String($0)) }) {
      case .done: done.insert(purpose)
      case .refused: break
      case .unanswered, nil: orders.append(entry)
      }
    }
    (self.orders, self.now) = (orders, now)
    isRead =
      try Jobs.find(Ledger.readJob, key.description, reading: reader)?.state == .settled
  }

  /// What two orders have in common that are the same.
  private struct Purpose: Hashable {
    let act: String
    let members: [String]

    init(_ entry: AuditEntry) throws {
      act = entry.act
      members = Self.members(try JSON.parse(Array(entry.after.utf8)))
    }

    init(_ act: String, _ effect: Act.Effect) throws {
      self.act = "\(act): \(AuditEntry.orderStep)"
      members = Self.members(try JSON.parse(effect.after.encoded()))
    }

    private static func members(_ after: JSON) -> [String] {
      ["payment", "goes_back", "days"].map { name in
        after[name].string ?? after[name].integer.map { "\($0)" } ?? ""
      }
    }
  }

  /// The effect of an order with what is unanswered told in it. Refused where the same was done, as far as
  /// what is known since says, unless another one is wanted; `news` is what is known.
  func told(
    in effect: Act.Effect, of act: String, wantsAnother: Bool, news: String
  ) throws -> Act.Effect {
    let purpose = try Purpose(act, effect)
    guard let same = try orders.first(where: { try Purpose($0) == purpose }) else {
      return orders.first.map { effect.adding("\($0.title); it may have been done") } ?? effect
    }
    if try same.hasNews(beside: effect) {
      if wantsAnother { return effect.adding("\(same.title); \(news)") }
      throw CommandFailure(
        .refused,
        "\(same.title) was the same and got no answer, and since then \(news): "
          + "--another orders one more")
    }
    if wantsAnother {
      throw CommandFailure(
        .refused,
        "what became of \(same.title) is not known: without --another the same is done once")
    }
    if !isRead, same.at + Self.memorySpan < now {
      throw CommandFailure(
        .refused,
        "what became of \(same.title) is not known until the subscription is read; "
          + "coffer jobs list shows what keeps it")
    }
    return effect.adding("\(same.title); the same again is done once")
  }
}

extension AuditEntry {
  fileprivate var title: String { "\(name) of \(at)" }

  /// Whether that is known now which tells that it was done: refunds that were not, or another end.
  fileprivate func hasNews(beside effect: Act.Effect) throws -> Bool {
    let then = try JSON.parse(Array(before.utf8))
    let now = try JSON.parse(effect.before.encoded())
    if let end = then["ends"].string, let newEnd = now["ends"].string { return end != newEnd }
    return (then["refunds"].integer ?? 0) < (now["refunds"].integer ?? 0)
  }
}

extension Act.Effect {
  /// With what was ordered before and may have been done or not.
  fileprivate func adding(_ unanswered: String) -> Act.Effect {
    func adding(_ state: JSONValue) -> JSONValue {
      guard case .object(let members) = state else { return state }
      return .object(members + [.init("unanswered", .string(unanswered))])
    }
    var effect = self
    (effect.before, effect.after) = (adding(before), adding(after))
    return effect
  }
}
