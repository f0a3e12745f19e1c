internal import Base
internal import JSON

/// Whether a text can be an id of the store: bounded, visible ASCII.
func isID(_ text: String) -> Bool {
  (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
}

extension JSON {
  func requireID() throws(JSONError) -> String {
    let text = try requireString()
    guard isID(text) else {
      throw JSONError(code: .wrongType, path: path, message: "must be an id")
    }
    return text
  }

  func optionalID() throws(JSONError) -> String? { isAbsent ? nil : try requireID() }

  /// Milliseconds since 1970, as everywhere in the store's payloads.
  func requireInstant() throws(JSONError) -> Instant {
    let milliseconds = try requireInteger()
    guard (0...Self.millisecondsMax).contains(milliseconds) else {
      throw JSONError(code: .numberRange, path: path, message: "must be a time before year 10000")
    }
    return Instant(milliseconds: milliseconds)
  }

  func optionalInstant() throws(JSONError) -> Instant? { isAbsent ? nil : try requireInstant() }
  func optionalInteger() throws(JSONError) -> Int64? { isAbsent ? nil : try requireInteger() }
  func optionalBool() throws(JSONError) -> Bool { isAbsent ? false : try requireBool() }

  private var isAbsent: Bool { !exists || isNull }

  private static let millisecondsMax: Int64 = 253_402_300_799_999
}
