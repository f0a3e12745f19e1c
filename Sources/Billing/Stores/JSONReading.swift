package import Base
package import JSON

/// Whether a text can be a store's id: 1 to 255 bytes of visible ASCII.
package func isID(_ text: String) -> Bool {
  (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
}

extension JSON {
  /// Whether the member is missing or null.
  package var isAbsent: Bool { !exists || isNull }

  package func requireID() throws(JSONError) -> String {
    let text = try requireString()
    guard isID(text) else { throw failure("must be an id") }
    return text
  }

  /// The error for a value that is there and cannot be used.
  package func failure(_ message: String) -> JSONError {
    JSONError(code: .wrongType, path: path, message: message)
  }
}

/// The form in which mirrors are stored.
extension JSONValue {
  /// Absent values are left out.
  package static func members(_ members: [(String, JSONValue?)]) -> JSONValue {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  package static func instant(_ instant: Instant) -> JSONValue {
    .integer(instant.milliseconds)
  }

  package static func optional(_ instant: Instant?) -> JSONValue? {
    instant.map { .instant($0) }
  }
}

extension JSON {
  package func requireStoredInstant() throws(JSONError) -> Instant {
    Instant(milliseconds: try requireInteger())
  }

  package var storedInstant: Instant? { integer.map { Instant(milliseconds: $0) } }
}

extension JSONLimits {
  /// For what was derived from deliveries and stored, which may be longer than any of them.
  package static let stored = JSONLimits(byteCountMax: 1 << 28, valueCountMax: 1 << 24)
}
