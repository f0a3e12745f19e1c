import Base
import HTTPMessages

/// The `Retry-After` header (RFC 9110, section 10.2.3) as providers write it.
enum RetryAfter {
  /// Reads seconds, a date, or some stores' milliseconds since 1970. The latter two count from
  /// `date`, the provider's own clock, and mean nothing without it.
  static func span(_ text: String, date: Instant?) -> Instant.Span? {
    if let end = Instant(httpDate: text) { return remaining(end, date) }
    guard text.utf8.count <= 15, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      let number = Int64(text)
    else { return nil }
    // No provider asks for a wait of 3,000 years: such a number is a moment, not a span.
    if number >= 100_000_000_000 { return remaining(Instant(milliseconds: number), date) }
    return .seconds(number)
  }

  private static func remaining(_ end: Instant, _ date: Instant?) -> Instant.Span? {
    date.map { max(end - $0, .seconds(0)) }
  }
}
