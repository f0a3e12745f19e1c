/// An amount of money as BTCPay Server writes it: a decimal text of any precision.
///
/// It is never negative, and exact: `49`, `49.0` and `49.00` are the same amount. It supports no arithmetic.
package struct BTCPayAmount: Hashable, Sendable {
  /// Without leading zeros; empty for zero.
  private let whole: String
  /// Without trailing zeros; empty for zero.
  private let fraction: String

  package static let zero = BTCPayAmount(whole: "", fraction: "")

  /// More digits than the numbers of the server itself have.
  private static let digitCountMax = 40

  /// Nil if it is not a plain decimal number.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.digitCountMax, !parts[0].isEmpty,
      parts.count == 1 || !parts[1].isEmpty,
      parts.allSatisfy({ $0.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } })
    else { return nil }
    self.init(whole: parts[0], fraction: parts.count == 1 ? "" : parts[1])
  }

  /// A price of the catalogue; `exponent` is the number of its digits after the decimal point.
  package init(minorUnits: Int64, exponent: Int) {
    let digits = String(max(0, minorUnits))
    let padded = String(repeating: "0", count: max(0, exponent - digits.utf8.count)) + digits
    self.init(whole: padded.dropLast(exponent), fraction: padded.suffix(exponent))
  }

  private init(whole: Substring, fraction: Substring) {
    self.whole = String(whole.drop { $0 == "0" })
    var fraction = fraction
    while fraction.last == "0" { fraction.removeLast() }
    self.fraction = String(fraction)
  }
}

extension BTCPayAmount: Comparable {
  package static func < (a: Self, b: Self) -> Bool {
    if a.whole.utf8.count != b.whole.utf8.count { return a.whole.utf8.count < b.whole.utf8.count }
    return (a.whole, a.fraction) < (b.whole, b.fraction)
  }
}

extension BTCPayAmount: CustomStringConvertible {
  package var description: String {
    (whole.isEmpty ? "0" : whole) + (fraction.isEmpty ? "" : "." + fraction)
  }
}
