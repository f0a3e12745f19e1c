internal import Base
internal import Configuration

/// A fixture that is nobody's and of no time until it is sent: its places are filled in then.
///
/// `{{account}}` is the account's id; `{{tag}}` twelve digits of it, so that the objects of two
/// accounts stay apart; `{{now}}`, `{{now+31d}}` and `{{now-60s}}` are seconds since 1970.
enum FreshFixture {
  /// Whether anything is to be filled in.
  static func isFresh(_ body: [UInt8]) -> Bool {
    String(decoding: body, as: UTF8.self).contains("{{")
  }

  /// Throws a `CommandFailure` that names a place it does not know.
  static func filled(
    _ body: [UInt8], account: Identifier, now: Instant
  ) throws(CommandFailure) -> [UInt8] {
    var filled = ""
    var rest = String(decoding: body, as: UTF8.self)[...]
    while let start = rest.firstRange(of: "{{") {
      filled += rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      guard let end = rest.firstRange(of: "}}") else {
        throw CommandFailure(.refused, "a place of the fixture has no end: {{\(rest.prefix(20))")
      }
      filled += try value(of: String(rest[..<end.lowerBound]), account, now)
      rest = rest[end.upperBound...]
    }
    return Array((filled + rest).utf8)
  }

  private static func value(
    of place: String, _ account: Identifier, _ now: Instant
  ) throws(CommandFailure) -> String {
    switch place {
    case "account": return account.description
    case "tag": return String(account.description.filter { $0 != "-" }.suffix(12))
    case "now": return String(now.seconds)
    default:
      guard place.hasPrefix("now"), let unit = place.last.flatMap({ seconds[$0] }),
        let count = Int64(place.dropFirst(3).dropLast()), abs(count) <= countMax
      else { throw CommandFailure(.refused, "the fixture has an unknown place {{\(place)}}") }
      return String(now.seconds + count * unit)
    }
  }

  private static let seconds: [Character: Int64] = ["s": 1, "d": 86_400]
  private static let countMax: Int64 = 1_000_000
}
