internal import Base

/// Reads a moment from a command line: RFC 3339 in UTC (`2026-01-05T10:00:00Z`) or seconds.
enum InstantText {
  static func parse(_ text: String) -> Instant? {
    if let seconds = Int64(text) {
      guard 0...253_402_300_799 ~= seconds else { return nil }
      return Instant(seconds: seconds)
    }
    return Instant(rfc3339: text)
  }
}
