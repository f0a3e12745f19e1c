import Base

/// The store, plan and period by which a report splits subscribers and money.
package struct Segment: Hashable, Sendable {
  /// The store's name.
  package let store: String
  /// The plan's id; nil for money if it is not known what it bought.
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

/// The length of time that a customer pays for at once.
package enum Period: String, Hashable, Sendable, CaseIterable {
  case month, year
  /// A part of a month or year, or any other length.
  case other

  /// A store can add days to a period without any other sign, so a period can be longer than it was
  /// sold. A length below two months still counts as a month, and one below two years as a year.
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
