package import Tiers

/// A sum of amounts in one currency, exact.
package struct MoneySum: Hashable, Sendable {
  /// In trillionths of the currency's unit: no currency or coin has smaller parts.
  private let parts: Int128

  private static let digitCount = 12

  package static let zero = MoneySum(parts: 0)

  private init(parts: Int128) { self.parts = parts }

  /// Nil for amounts larger than any money.
  package init?(_ money: Money) {
    let isNegative = money.amount.hasPrefix("-")
    let texts = money.amount.drop { $0 == "-" }.split(separator: ".", maxSplits: 1)
    let fraction = texts.count == 2 ? String(texts[1].prefix(Self.digitCount)) : ""
    let digits =
      (texts.first ?? "0") + fraction
      + String(repeating: "0", count: Self.digitCount - fraction.utf8.count)
    guard digits.utf8.count <= 30, let magnitude = Int128(digits) else { return nil }
    parts = isNegative ? -magnitude : magnitude
  }

  package static func + (a: MoneySum, b: MoneySum) -> MoneySum {
    MoneySum(parts: a.parts + b.parts)
  }

  package static func - (a: MoneySum, b: MoneySum) -> MoneySum {
    MoneySum(parts: a.parts - b.parts)
  }

  package static func += (a: inout MoneySum, b: MoneySum) { a = a + b }

  package var isZero: Bool { parts == 0 }

  package func money(in currency: String) -> Money {
    let digits = String(parts.magnitude)
    let padded =
      String(repeating: "0", count: max(0, Self.digitCount + 1 - digits.utf8.count)) + digits
    return Money(
      amount: (parts < 0 ? "-" : "") + padded.dropLast(Self.digitCount) + "."
        + padded.suffix(Self.digitCount), currency: currency)
  }

  /// For a plot, which need not be exact.
  package var approximate: Double { Double(parts) / 1e12 }
}

extension MoneySum: Comparable {
  package static func < (a: MoneySum, b: MoneySum) -> Bool { a.parts < b.parts }
}
