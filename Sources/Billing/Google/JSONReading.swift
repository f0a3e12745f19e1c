internal import Base
internal import JSON

/// Whether a text can be an id of the store: bounded, visible ASCII.
func isID(_ text: String) -> Bool {
  (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
}

extension JSON {
  private func failure(_ message: String) -> JSONError {
    JSONError(code: .wrongType, path: path, message: message)
  }

  func requireID() throws(JSONError) -> String {
    let text = try requireString()
    guard isID(text) else { throw failure("must be an id") }
    return text
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

  private var isAbsent: Bool { !exists || isNull }
}
