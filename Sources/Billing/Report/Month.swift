package import Base

/// A month of the calendar in UTC.
package struct Month: Hashable, Sendable {
  /// The month's first moment.
  package let start: Instant

  private init(start: Instant) { self.start = start }

  /// As people write it, `2026-10`; nil for anything else.
  package init?(_ text: String) {
    guard text.utf8.count == 7, let start = Instant(rfc3339: "\(text)-01T00:00:00Z") else {
      return nil
    }
    self.start = start
  }

  /// The month of a moment.
  package init(of moment: Instant) {
    // People write no other years than those of four digits.
    self = Month(String(moment.description.prefix(7))) ?? Month(start: .distantPast)
  }

  /// The first moment after the month.
  package var end: Instant { start.adding(calendarMonths: 1) }

  package func adding(_ count: Int64) -> Month {
    Month(start: start.adding(calendarMonths: count))
  }

  private static let names = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]

  /// `October 2026`
  package var title: String {
    "\(Self.names[Int(start.month % 100) - 1]) \(start.month / 100)"
  }
}

extension Month: Comparable {
  package static func < (a: Month, b: Month) -> Bool { a.start < b.start }
}

extension Month: CustomStringConvertible {
  package var description: String { String(start.description.prefix(7)) }
}
