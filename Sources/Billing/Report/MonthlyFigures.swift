package import Base
package import Tiers

extension MonthlyReport {
  /// The figures of one of `months`.
  package struct OfMonth {
    package let month: Month
    /// The end of the count, if the month was not over; nil for a whole month.
    package let toDate: Instant?
    package let movement: Movement
    package let trials: Trials
    package let failures: Failures
    /// By currency, in the order of `currencies`.
    package let revenue: [CurrencyRevenue]
  }

  package struct CurrencyRevenue {
    package let currency: String
    package let revenue: Revenue

    package init(_ revenue: Revenue, in currency: String) {
      (self.currency, self.revenue) = (currency, revenue)
    }
  }

  package func figures(of index: Int) -> OfMonth {
    OfMonth(
      month: months[index], toDate: index == months.count - 1 ? toDate : nil,
      movement: movements[index], trials: trials[index], failures: failures[index],
      revenue: currencies.compactMap { currency in
        revenueOfMonths[currency].map { CurrencyRevenue($0[index], in: currency) }
      })
  }

  /// The month itself.
  package var current: OfMonth { figures(of: months.count - 1) }
  /// The month before it.
  package var previous: OfMonth { figures(of: months.count - 2) }

  /// The months of which anything can be known, and at least the last two.
  package var known: [OfMonth] {
    let first = began.flatMap { began in months.firstIndex { began < $0.end } } ?? months.count
    return (min(first, months.count - 2)..<months.count).map(figures)
  }

  /// `November 2026`, with a note if the month is not over.
  package var title: String { month.title + (toDate == nil ? "" : " to date") }

  /// The month's segments in ascending order.
  package var sortedSegments: [(segment: Segment, movement: Movement)] {
    segments.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The month's revenue in a currency, by segment in ascending order.
  package func segments(of currency: String) -> [(segment: Segment, revenue: Revenue)] {
    (revenue[currency] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The ways in which subscribers were lost, the most frequent first.
  package var sortedReasons: [(reason: CapReason, count: Int64)] {
    reasons.sorted { (-$0.value, $0.key.precedence) < (-$1.value, $1.key.precedence) }
      .map { ($0.key, $0.value) }
  }
}

/// A part of a whole for people, in tenths of a percent.
package struct Portion: Equatable {
  package let part: Int64
  package let whole: Int64

  /// Nil if the whole is nothing.
  package var permille: Int64? { whole > 0 ? (part * 2000 + whole) / (2 * whole) : nil }

  /// `3.2 %`, or `-` if the whole is nothing.
  package var text: String { permille.map { "\($0 / 10).\($0 % 10) %" } ?? "-" }
}

extension MonthlyReport.Movement {
  /// The number of lost subscribers, as a part of the number at the beginning.
  package var churn: Portion { Portion(part: lost, whole: opening) }

  /// New subscribers, and those who returned.
  package var came: Int64 { new + returned }
}

extension MonthlyReport.Failures {
  /// The part of the decided failed payments that arrived after all.
  package var recovery: Portion { Portion(part: recovered, whole: recovered + lost) }
}
