internal import Base
internal import JSON
internal import Stores

extension JSON {
  private func failure(_ message: String) -> JSONError {
    JSONError(code: .wrongType, path: path, message: message)
  }

  /// In proto3 an empty text says as little as none.
  func optionalID() throws(JSONError) -> String? {
    isAbsent || string == "" ? nil : try requireID()
  }

  func requireToken() throws(JSONError) -> PurchaseToken {
    guard let token = PurchaseToken(try requireString()) else {
      throw failure("must be a purchase token")
    }
    return token
  }

  func optionalToken() throws(JSONError) -> PurchaseToken? {
    isAbsent || string == "" ? nil : try requireToken()
  }

  /// A 64-bit number, which JSON of Google's writes as text; a number is taken, too.
  func requireLong() throws(JSONError) -> Int64 {
    if let text = string {
      guard let number = Int64(text) else { throw failure("must be a number") }
      return number
    }
    return try requireInteger()
  }

  /// RFC 3339 in UTC, with up to nine digits of a second, of which three count.
  func optionalTimestamp() throws(JSONError) -> Instant? {
    if isAbsent { return nil }
    guard let instant = Instant(rfc3339: try requireString()) else {
      throw failure("must be a time, e.g. 2026-01-05T10:00:00.123Z")
    }
    return instant
  }

  /// Proto3 leaves false out.
  func optionalBool() throws(JSONError) -> Bool { isAbsent ? false : try requireBool() }

}
