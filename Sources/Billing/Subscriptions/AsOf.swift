package import Base

/// The time, from `from` up to before `to`, in which a provider's object was as a delivery shows it: an
/// interval, because stores' times are coarse. Two events of one second have no order.
package struct AsOf: Hashable, Sendable {
  package let from: Instant
  package let to: Instant

  /// Traps on an empty interval, which would come before itself.
  package init(from: Instant, to: Instant) {
    precondition(from < to, "an as-of interval is not empty")
    self.from = from
    self.to = to
  }

  /// For a store that truncates its times to whole seconds.
  package static func second(_ created: Instant) -> AsOf {
    AsOf(from: created, to: created + .seconds(1))
  }

  /// For a store whose times are exact to the millisecond.
  package static func moment(_ signed: Instant) -> AsOf {
    AsOf(from: signed, to: signed + .milliseconds(1))
  }

  /// The number of a read, for a provider that reports no time: an axis of its own.
  package static func readNumber(_ number: Int64) -> AsOf { moment(Instant(milliseconds: number)) }

  /// Whether this is certainly no later than `other`.
  package func isBefore(_ other: AsOf) -> Bool { to <= other.from }
}
