internal import Base

/// What subscribers and money are told apart by.
package struct Segment: Hashable, Sendable {
  /// The store's name.
  package let store: String
  /// The plan's id; nil for money of which nothing tells what it bought.
  package let plan: String?
  package let period: Period

  package init(store: String, plan: String?, period: Period) {
    self.store = store
    self.plan = plan
    self.period = period
  }
}

extension Segment: Comparable {
  package static func < (a: Segment, b: Segment) -> Bool {
    (a.store, a.plan ?? "~", a.period) < (b.store, b.plan ?? "~", b.period)
  }
}

/// For how long at a time somebody pays.
package enum Period: String, Hashable, Sendable, CaseIterable {
  case month, year
  /// A part of either, or anything else.
  case other

  /// A period to which its store gave days is longer than it was sold, and nothing else tells of them: so a
  /// month reaches to where two begin, and a year to where two do.
  init(from start: Instant, to end: Instant) {
    let length = end - start
    if .days(27) <= length, length < .days(59) {
      self = .month
    } else if .days(360) <= length, length < .days(725) {
      self = .year
    } else {
      self = .other
    }
  }
}

extension Period: Comparable {
  package static func < (a: Period, b: Period) -> Bool {
    (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
  }
}
