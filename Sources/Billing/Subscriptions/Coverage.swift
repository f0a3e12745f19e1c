package import Base
package import Tiers

/// The times of access that one subscription entitles to, and why. It is derived, never edited.
package struct Coverage: Hashable, Sendable {
  /// Sorted; they may overlap if siblings disagree or two items run in parallel.
  package let intervals: [Interval]
  /// For each end after which nothing follows, the reason.
  package let endings: [Schedule.Ending]
  package let alarms: Set<Alarm>

  package static let none = Coverage(intervals: [], endings: [], alarms: [])

  /// Accepts intervals and endings in any order and with repeats.
  package init(intervals: [Interval], endings: [Schedule.Ending], alarms: Set<Alarm>) {
    self.intervals = Self.distinct(intervals.filter { $0.from < $0.to }.sorted())
    self.endings = Self.distinct(
      endings.sorted { ($0.at, $0.reason.precedence) < ($1.at, $1.reason.precedence) })
    self.alarms = alarms
  }

  private static func distinct<Element: Equatable>(_ sorted: [Element]) -> [Element] {
    var distinct: [Element] = []
    for element in sorted where element != distinct.last { distinct.append(element) }
    return distinct
  }

  /// A plan that is owed from `from` up to but not including `to`.
  package struct Interval: Hashable, Sendable {
    package let planID: String
    package let from: Instant
    package let to: Instant
    package let why: CapReason
    /// The object that proves it.
    package let evidence: Evidence

    package init(
      planID: String, from: Instant, to: Instant, why: CapReason, evidence: Evidence
    ) {
      self.planID = planID
      self.from = from
      self.to = to
      self.why = why
      self.evidence = evidence
    }

    package func ending(at end: Instant) -> Interval {
      Interval(planID: planID, from: from, to: min(to, end), why: why, evidence: evidence)
    }

    package func contains(_ moment: Instant) -> Bool { from <= moment && moment < to }
  }

  package struct Evidence: Hashable, Sendable {
    package let kind: ObjectKey.Kind
    package let id: String

    package init(_ kind: ObjectKey.Kind, _ id: String) {
      self.kind = kind
      self.id = id
    }
  }

  /// Something for an operator to look at. No alarm changes by itself what is owed.
  package enum Alarm: Hashable, Sendable {
    /// A product that is neither mapped nor ignored.
    case unknownProduct(price: String?, product: String?)
    /// A product or price that no catalogue lists any more; it keeps its last plan.
    case unmappedProduct(String)
    case unknownStatus(String)
    /// A payment for a period of a subscription that had already ended.
    case paidAfterEnd(invoice: String)
    /// An item of a purchase has time that no order paid for.
    case unpaidItem(product: String)
    /// The store reports it active, but there is no invoice that anyone could have paid.
    case activeWithoutPayment
    /// Money was or may be returned, and the policy only records this.
    case reversal(ReversalTable.Kind, object: String)
    /// A payment that differs from what was requested: an operator may owe money to someone.
    case irregularPayment(Irregularity, object: String)
  }

  /// The way in which a payment is irregular.
  package enum Irregularity: String, Hashable, Sendable, CaseIterable {
    /// Paid, but not the price of the named product: nothing is owed for it.
    case wrongPrice = "wrong_price"
    /// Too little was paid before the time to pay was over: nothing is owed for it.
    case partial
    /// All of it was paid after the time to pay was over: nothing is owed for it.
    case late
    /// Its network never confirmed it: nothing is owed for it.
    case unconfirmed
    /// More than was requested.
    case surplus
    /// A little less than was requested, which the store accepted.
    case short
    /// Several of the same item, which counts once.
    case quantity
  }

  /// The moments at which time alone can change what is owed, ascending: after `start`, up to and
  /// including `end`.
  package func boundaries(after start: Instant, upTo end: Instant) -> [Instant] {
    let moments = intervals.flatMap { [$0.from, $0.to] } + endings.map { $0.at }
    return Set(moments.filter { start < $0 && $0 <= end }).sorted()
  }

  /// The access at `now`; of several intervals, the one whose reason comes first.
  package func entry(at now: Instant) -> Interval? {
    intervals.filter { $0.contains(now) }.min { $0.why.precedence < $1.why.precedence }
  }

  /// The newest ending up to `now`.
  package func ending(at now: Instant) -> Schedule.Ending? {
    endings.filter { $0.at <= now }.max {
      ($0.at, -$0.reason.precedence) < ($1.at, -$1.reason.precedence)
    }
  }

  /// The coverage that disagreeing siblings give together.
  package static func union(_ siblings: [Coverage]) -> Coverage {
    if siblings.count == 1 { return siblings[0] }
    return Coverage(
      intervals: siblings.flatMap { $0.intervals }, endings: siblings.flatMap { $0.endings },
      alarms: Set(siblings.flatMap { $0.alarms }))
  }
}

extension CapReason {
  /// Whether it is the paid or forgiven period or the trial itself, not access beyond it.
  package var isPaidFor: Bool {
    [.subscribed, .contested, .trial, .courtesy].contains(self)
  }
}

extension Coverage.Evidence: Comparable {
  package static func < (a: Self, b: Self) -> Bool {
    (a.kind.rawValue, a.id) < (b.kind.rawValue, b.id)
  }
}

extension Coverage.Interval: Comparable {
  package static func < (a: Self, b: Self) -> Bool {
    (a.from, a.to, a.planID, a.why.precedence, a.evidence)
      < (b.from, b.to, b.planID, b.why.precedence, b.evidence)
  }
}
