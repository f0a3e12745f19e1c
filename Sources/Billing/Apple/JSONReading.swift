import Base
import JSON
import Stores

extension JSON {
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

  private static let millisecondsMax: Int64 = 253_402_300_799_999
}
