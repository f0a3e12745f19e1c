import Base
import JSON
import Stores

extension JSON {
  func optionalID() throws(JSONError) -> String? { isAbsent ? nil : try requireID() }

  /// The order's name in an invoice's metadata, if it is an account of ours.
  var account: Identifier? { self["orderId"].string.flatMap { Identifier($0) } }

  /// Seconds since 1970, before year 10000.
  func requireInstant() throws(JSONError) -> Instant {
    let seconds = try requireInteger()
    guard (0...253_402_300_799).contains(seconds) else {
      throw failure("must be seconds since 1970")
    }
    return Instant(seconds: seconds)
  }

  /// A decimal text. Older servers wrote whole numbers for whole amounts.
  func optionalAmount() throws(JSONError) -> BTCPayAmount? {
    if isAbsent { return nil }
    let text: String
    if let integer { text = String(integer) } else { text = try requireString() }
    guard let amount = BTCPayAmount(text) else { throw failure("must be an amount, e.g. 49.00") }
    return amount
  }
}
