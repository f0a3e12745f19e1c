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
    guard let instant = Timestamp.instant(try requireString()) else {
      throw failure("must be a time, e.g. 2026-01-05T10:00:00.123Z")
    }
    return instant
  }

  /// Proto3 leaves false out.
  func optionalBool() throws(JSONError) -> Bool { isAbsent ? false : try requireBool() }

  private var isAbsent: Bool { !exists || isNull }
}

/// Times as proto3's JSON writes them.
enum Timestamp {
  static func instant(_ text: String) -> Instant? {
    let bytes = Array(text.utf8)
    let shape = Array("dddd-dd-ddTdd:dd:dd".utf8)
    guard bytes.count > shape.count, bytes.last == UInt8(ascii: "Z") else { return nil }
    for (byte, expected) in zip(bytes, shape) {
      guard expected == UInt8(ascii: "d") ? isDigit(byte) : byte == expected else { return nil }
    }
    guard let fraction = milliseconds(bytes[shape.count..<(bytes.count - 1)]) else { return nil }
    func number(_ from: Int, _ count: Int) -> Int64 { value(bytes[from..<(from + count)]) }
    let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
    let days = daysSinceEpoch(year: year, month: month, day: day)
    let instant = Instant(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
    // A 30 February or a 25th hour names another moment than it says.
    guard instant.description == String(decoding: bytes[..<shape.count], as: UTF8.self) + "Z" else {
      return nil
    }
    return instant + .milliseconds(fraction)
  }

  private static func milliseconds(_ fraction: ArraySlice<UInt8>) -> Int64? {
    guard let first = fraction.first else { return 0 }
    let digits = fraction.dropFirst()
    guard first == UInt8(ascii: "."), (1...9).contains(digits.count), digits.allSatisfy(isDigit)
    else { return nil }
    return value((digits + Array("00".utf8)).prefix(3))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

  private static func value(_ digits: ArraySlice<UInt8>) -> Int64 {
    digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// Gregorian day number, counted in 400-year eras that begin on 1 March.
  private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
