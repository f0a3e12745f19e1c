/// An amount of money as people write it: exact, never computed with.
package struct Money: Hashable, Sendable {
  /// Decimal, with as many digits behind the point as its currency has, or more: `9.99`, `1200`.
  package let amount: String
  /// In upper case: ISO 4217, or a coin's.
  package let currency: String

  /// `amount` is a decimal number; digits that it lacks behind the point are added.
  package init(amount: String, currency: String) {
    self.currency = currency.uppercased()
    let parts = amount.split(separator: ".", maxSplits: 1)
    var fraction = parts.count == 2 ? String(parts[1]) : ""
    let digits = MinorUnits.exponent(of: currency.lowercased())
    while fraction.utf8.count > digits, fraction.last == "0" { fraction.removeLast() }
    fraction += String(repeating: "0", count: max(0, digits - fraction.utf8.count))
    self.amount = (parts.first.map(String.init) ?? "0") + (fraction.isEmpty ? "" : "." + fraction)
  }

  /// A whole number of parts of which `exponent` digits stand behind the point.
  package init(_ count: Int64, exponent: Int, currency: String) {
    let digits = String(count.magnitude)
    let padded = String(repeating: "0", count: max(0, exponent + 1 - digits.utf8.count)) + digits
    self.init(
      amount: (count < 0 ? "-" : "") + padded.dropLast(exponent) + "." + padded.suffix(exponent),
      currency: currency)
  }

  /// Parts of which `exponent` digits stand behind the point; nil where it has more digits than that, or
  /// is no number of 64 bits.
  package func count(exponent: Int) -> Int64? {
    let parts = amount.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    var fraction = parts.count == 2 ? parts[1] : ""
    while fraction.utf8.count > exponent, fraction.last == "0" { fraction.removeLast() }
    guard fraction.utf8.count <= exponent else { return nil }
    let zeros = String(repeating: "0", count: exponent - fraction.utf8.count)
    return Int64(parts[0] + fraction + zeros)
  }

  /// In the smallest unit of its currency.
  package init(minorUnits: Int64, currency: String) {
    self.init(
      minorUnits, exponent: MinorUnits.exponent(of: currency.lowercased()), currency: currency)
  }
}

extension Money: CustomStringConvertible {
  package var description: String { "\(amount) \(currency)" }
}

/// How many digits behind the point amounts in a currency have.
package enum MinorUnits {
  /// ISO 4217 where it is not two, and the coins that a server may be paid in; in lower case.
  private static let exponents: [String: Int] = [
    "bif": 0, "clp": 0, "djf": 0, "gnf": 0, "isk": 0, "jpy": 0, "kmf": 0, "krw": 0, "pyg": 0,
    "rwf": 0, "ugx": 0, "uyi": 0, "vnd": 0, "vuv": 0, "xaf": 0, "xof": 0, "xpf": 0,
    "bhd": 3, "iqd": 3, "jod": 3, "kwd": 3, "lyd": 3, "omr": 3, "tnd": 3,
    "btc": 8, "ltc": 8, "xmr": 12,
  ]

  /// `currency` in lower case.
  package static func exponent(of currency: String) -> Int { exponents[currency] ?? 2 }
}
