internal import Base
internal import JSON

extension JSON {
  private func failure(_ message: String) -> JSONError {
    JSONError(code: .wrongType, path: path, message: message)
  }

  private var isAbsent: Bool { !exists || isNull }

  /// Bounded, visible ASCII.
  func requireID() throws(JSONError) -> String {
    let text = try requireString()
    guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw failure("must be an id")
    }
    return text
  }

  func optionalID() throws(JSONError) -> String? { isAbsent ? nil : try requireID() }

  /// Of an invoice's metadata: its order's name, where that is an account of ours.
  var account: Identifier? { self["orderId"].string.flatMap { Identifier($0) } }

  /// Seconds since 1970, before year 10000.
  func requireInstant() throws(JSONError) -> Instant {
    let seconds = try requireInteger()
    guard (0...253_402_300_799).contains(seconds) else {
      throw failure("must be seconds since 1970")
    }
    return Instant(seconds: seconds)
  }

  /// A decimal text; older servers wrote whole numbers for whole amounts.
  func optionalAmount() throws(JSONError) -> BTCPayAmount? {
    if isAbsent { return nil }
    let text: String
    if let integer { text = String(integer) } else { text = try requireString() }
    guard let amount = BTCPayAmount(text) else { throw failure("must be an amount, e.g. 49.00") }
    return amount
  }
}
