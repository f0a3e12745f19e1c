/// An amount of money as people write it: exact, never computed with.
package struct Money: Hashable, Sendable {
  /// A decimal number with at least as many digits after the point as its currency has: `9.99`, `1200`.
  package let amount: String
  /// In upper case: an ISO 4217 code, or a coin's.
  package let currency: String

  /// `amount` is a decimal number; missing digits after the point are added.
  package init(amount: String, currency: String) {
    self.currency = currency.uppercased()
    let parts = amount.split(separator: ".", maxSplits: 1)
    var fraction = parts.count == 2 ? String(parts[1]) : ""
    let digits = MinorUnits.exponent(of: currency.lowercased())
    while fraction.utf8.count > digits, fraction.last == "0" { fraction.removeLast() }
    fraction += String(repeating: "0", count: max(0, digits - fraction.utf8.count))
    self.amount = (parts.first.map(String.init) ?? "0") + (fraction.isEmpty ? "" : "." + fraction)
  }

  /// An amount from a whole number of parts, with `exponent` digits after the point.
  package init(_ count: Int64, exponent: Int, currency: String) {
    let digits = String(count.magnitude)
    let padded = String(repeating: "0", count: max(0, exponent + 1 - digits.utf8.count)) + digits
    self.init(
      amount: (count < 0 ? "-" : "") + padded.dropLast(exponent) + "." + padded.suffix(exponent),
      currency: currency)
  }

  /// The amount in parts, with `exponent` digits after the point. Nil if it has more digits, or does not fit.
  package func count(exponent: Int) -> Int64? {
    let parts = amount.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    var fraction = parts.count == 2 ? parts[1] : ""
    while fraction.utf8.count > exponent, fraction.last == "0" { fraction.removeLast() }
    guard fraction.utf8.count <= exponent else { return nil }
    let zeros = String(repeating: "0", count: exponent - fraction.utf8.count)
    return Int64(parts[0] + fraction + zeros)
  }

  /// An amount in the smallest unit of its currency.
  package init(minorUnits: Int64, currency: String) {
    self.init(
      minorUnits, exponent: MinorUnits.exponent(of: currency.lowercased()), currency: currency)
  }
}

extension Money: CustomStringConvertible {
  package var description: String { "\(amount) \(currency)" }
}

/// The number of digits after the point of amounts in a currency.
package enum MinorUnits {
  /// The digits of ISO 4217 currencies that do not have two, and of coins; names in lower case.
  private static let exponents: [String: Int] = [
    "bif": 0, "clp": 0, "djf": 0, "gnf": 0, "isk": 0, "jpy": 0, "kmf": 0, "krw": 0, "pyg": 0,
    "rwf": 0, "ugx": 0, "uyi": 0, "vnd": 0, "vuv": 0, "xaf": 0, "xof": 0, "xpf": 0,
    "bhd": 3, "iqd": 3, "jod": 3, "kwd": 3, "lyd": 3, "omr": 3, "tnd": 3,
    "btc": 8, "ltc": 8, "xmr": 12,
  ]

  /// `currency` in lower case.
  package static func exponent(of currency: String) -> Int { exponents[currency] ?? 2 }
}
