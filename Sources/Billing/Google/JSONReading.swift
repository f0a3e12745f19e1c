import Base
import JSON
import Stores
import Tiers

extension JSON {
  /// In proto3 an empty text means the same as an absent one.
  func optionalID() throws(JSONError) -> String? {
    isAbsent || string == "" ? nil : try requireID()
  }

  /// The id, if there is a valid one.
  var id: String? { string.flatMap { isID($0) ? $0 : nil } }

  /// The time, if there is a valid one.
  var time: Instant? { string.flatMap { Instant(foreign: $0) } }

  func requireToken() throws(JSONError) -> PurchaseToken {
    guard let token = PurchaseToken(try requireString()) else {
      throw failure("must be a purchase token")
    }
    return token
  }

  func optionalToken() throws(JSONError) -> PurchaseToken? {
    isAbsent || string == "" ? nil : try requireToken()
  }

  /// A 64-bit number, which Google's JSON writes as text. A number is accepted, too.
  func requireLong() throws(JSONError) -> Int64 {
    if let text = string {
      guard let number = Int64(text) else { throw failure("must be a number") }
      return number
    }
    return try requireInteger()
  }

  /// RFC 3339 in UTC, with up to nine digits of a second, three of which count.
  func optionalTimestamp() throws(JSONError) -> Instant? {
    if isAbsent { return nil }
    guard let instant = Instant(foreign: try requireString()) else {
      throw failure("must be a time, e.g. 2026-01-05T10:00:00.123Z")
    }
    return instant
  }

  /// `google.type.Money`: whole units, and billionths of a unit with the same sign. It does not
  /// affect access, so an unreadable one counts as none.
  var money: Money? {
    let text = self["units"]
    guard let currency = self["currencyCode"].string, isID(currency),
      let units = text.isAbsent ? 0 : text.integer ?? text.string.flatMap({ Int64($0) }),
      let nanos = self["nanos"].isAbsent ? 0 : self["nanos"].integer
    else { return nil }
    let isNegative = units < 0 || nanos < 0
    let fraction = String(nanos.magnitude)
    guard fraction.utf8.count <= 9 else { return nil }
    return Money(
      amount: (isNegative ? "-" : "") + "\(units.magnitude)."
        + String(repeating: "0", count: 9 - fraction.utf8.count) + fraction, currency: currency)
  }

  /// Proto3 omits false.
  func optionalBool() throws(JSONError) -> Bool { isAbsent ? false : try requireBool() }
}
