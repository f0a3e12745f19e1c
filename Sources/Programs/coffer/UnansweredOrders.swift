internal import Audit
internal import Base
internal import Configuration
internal import JSON
internal import Jobs
internal import Ledger
internal import Storage
internal import Stores
internal import Subscriptions

/// What was ordered about a subscription and got no answer of its store's: each was done or not.
///
/// The same again must not be done twice. While an answer may still come the same is not ordered. Until the
/// store's word of the first has come, stores see to that themselves, as long as they remember it; from
/// then on what is known of the subscription tells it.
struct UnansweredOrders: Sendable {
  /// The newest first.
  private let orders: [Order]
  private let now: Instant
  /// Whether the subscription was read since it was last ordered to be.
  private let isSettled: Bool
  /// When it was read last, whatever was ordered since.
  private let lastRead: Instant?

  private struct Order {
    let entry: AuditEntry
    let purpose: Purpose
    /// Whether nothing has noted yet what came of it, and an answer may still come.
    let isUnderWay: Bool
  }

  /// The step of an entry that says what came of an order.
  enum Outcome: String {
    case done, refused, unanswered
  }

  /// No store takes longer to answer.
  static let answerSpan = Instant.Span.minutes(1)
  /// For so long nobody orders the same again without meaning it.
  private static let span = Instant.Span.days(30)
  /// For so long Stripe knows an order again, and an hour less.
  /// https://docs.stripe.com/api/idempotent_requests
  private static let memorySpan = Instant.Span.hours(23)
  private static let entryCountMax = 1000

  /// Nobody notes another order of the subscription while `transaction` has the ledger's lock.
  init(about key: ObjectKey, at now: Instant, in transaction: Transaction) throws {
    var query = AuditQuery()
    query.subject = key.description
    query.since = now - Self.span
    var orders: [Order] = []
    var done: Set<Purpose> = []
    for entry in try query.entries(after: nil, limit: Self.entryCountMax, reading: transaction)
    where entry.isOrder {
      let purpose = try Purpose(entry)
      // What the store answered to the same again, it answered to the first as well.
      guard !done.contains(purpose) else { continue }
      let step = try entry.outcome(reading: transaction)?.act.split(separator: " ").last
      switch step.flatMap({ Outcome(rawValue: String($0)) }) {
      case .done: done.insert(purpose)
      case .refused: break
      case .unanswered:
        orders.append(Order(entry: entry, purpose: purpose, isUnderWay: false))
      case nil:
        orders.append(
          Order(entry: entry, purpose: purpose, isUnderWay: now - entry.at < Self.answerSpan))
      }
    }
    (self.orders, self.now) = (orders, now)
    isSettled =
      try Jobs.find(Ledger.readJob, key.description, reading: transaction)?.state == .settled
    lastRead = try Ledger.lastRead(of: key, reading: transaction)
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

  /// The effect of an order with what is unanswered told in it. Refused where one of its kind is under way, or the
  /// same was done, as far as what is known since says, unless another one is wanted; `news` is what is known.
  func told(
    in effect: Act.Effect, of act: String, _ kind: StoreOrder.Kind, wantsAnother: Bool,
    news: String
  ) throws -> Act.Effect {
    let purpose = try Purpose(act, effect)
    // Another amount, or other days, would come beside it as well.
    if !kind.isRepeatable,
      let other = orders.first(where: { $0.isUnderWay && $0.purpose.act == purpose.act })
    {
      throw CommandFailure(
        .refused,
        "\(other.entry.title) by \(other.entry.actor) is under way; look again in a minute")
    }
    guard let same = orders.first(where: { $0.purpose == purpose }) else {
      return orders.first.map { effect.adding("\($0.entry.title); it may have been done") }
        ?? effect
    }
    let title = same.entry.title
    if !kind.isRepeatable {
      if try same.entry.hasNews(beside: effect) {
        if wantsAnother { return effect.adding("\(title); \(news)") }
        throw CommandFailure(
          .refused,
          "\(title) was the same and got no answer, and since then \(news): "
            + "--another orders one more")
      }
      if wantsAnother {
        throw CommandFailure(
          .refused, "what became of \(title) is not known: without --another the same is done once")
      }
      if !isKnown(same.entry), same.entry.at + Self.memorySpan < now {
        throw CommandFailure(
          .refused,
          "what became of \(title) is not known until the subscription is read; "
            + "coffer jobs list shows what keeps it")
      }
    }
    return effect.adding("\(title); the same again is done once")
  }

  /// Whether a read has shown what became of it.
  private func isKnown(_ order: AuditEntry) -> Bool {
    isSettled || lastRead.map { $0 > order.at + Self.answerSpan } ?? false
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
