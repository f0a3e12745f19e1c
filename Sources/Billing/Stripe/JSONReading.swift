import Base
package import JSON
import Stores

extension JSON {
  /// The id in a field that holds an id or, if the request asked to expand it, the whole object.
  package var reference: String? {
    (string ?? self["id"].string).flatMap { isID($0) ? $0 : nil }
  }

  func requireReference() throws(JSONError) -> String {
    guard let reference else { throw failure("must be an id or an object with one") }
    return reference
  }

  func requireInstant() throws(JSONError) -> Instant {
    let seconds = try requireInteger()
    guard (0...Self.secondsMax).contains(seconds) else {
      throw JSONError(code: .numberRange, path: path, message: "must be a time before year 10000")
    }
    return Instant(seconds: seconds)
  }

  func optionalInstant() throws(JSONError) -> Instant? {
    isAbsent ? nil : try requireInstant()
  }

  func optionalBool() throws(JSONError) -> Bool {
    isAbsent ? false : try requireBool()
  }

  /// One of a fixed set of words.
  func requireCase<Word: RawRepresentable<String>>() throws(JSONError) -> Word {
    guard let word = Word(rawValue: try requireString()) else {
      throw failure("must be a known word")
    }
    return word
  }

  private static let secondsMax: Int64 = 253_402_300_799
}
