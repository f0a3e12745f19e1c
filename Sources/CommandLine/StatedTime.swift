package import Base
import Configuration

/// A moment as an operator writes it: in UTC (`2026-01-05T10:00:00Z`, seconds, or a day for its
/// beginning), or as a span from now (`90s`, `15min`, `2h`, `3d`, `2w`).
package enum StatedTime: Sendable, Equatable {
  case moment(Instant)
  case fromNow(Instant.Span)

  /// A plain span is in the past, or in the future if `spanIsToCome`. A span with a `+` before it
  /// is always in the future.
  package init?(_ text: String, spanIsToCome: Bool = false) {
    if let seconds = Int64(text), !text.hasPrefix("+") {
      guard 0...253_402_300_799 ~= seconds else { return nil }
      self = .moment(Instant(seconds: seconds))
    } else if let moment = Instant(rfc3339: text) ?? Instant(rfc3339: text + "T00:00:00Z") {
      self = .moment(moment)
    } else {
      let isToCome = text.hasPrefix("+")
      let digits = text.dropFirst(isToCome ? 1 : 0).prefix { $0.isASCII && $0.isNumber }
      guard (1...6).contains(digits.count), let count = Int64(digits),
        let unit = Self.units[String(text.suffix(from: digits.endIndex))],
        count * unit <= Self.spanSecondsMax
      else { return nil }
      self = .fromNow(.seconds(isToCome || spanIsToCome ? count * unit : -count * unit))
    }
  }

  /// A thousand years. The time at either end has a year of four digits, as RFC 3339 requires.
  private static let spanSecondsMax: Int64 = 365_000 * 86_400

  private static let units: [String: Int64] = [
    "s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800,
  ]

  package func moment(at now: Instant) -> Instant {
    switch self {
    case .moment(let moment): moment
    case .fromNow(let span): now + span
    }
  }
}

extension Invocation {
  /// The end that an option gives; nil without it.
  package func end(
    _ option: Parameter<StatedTime?>, at now: Instant
  ) throws(CommandFailure) -> Instant? {
    let end = self[option]?.moment(at: now)
    if let end, end <= now { throw CommandFailure(.usage, "\(option.name) is in the past") }
    return end
  }
}

extension Form where Value == StatedTime {
  /// A moment; a plain span is in the past.
  package static var time: Form { stated { StatedTime($0) } }

  /// An end; a plain span is in the future.
  package static var end: Form { stated { StatedTime($0, spanIsToCome: true) } }

  private static func stated(_ read: @escaping @Sendable (String) -> StatedTime?) -> Form {
    Form(read) {
      "\($1) takes a time in UTC like 2026-01-05T10:00:00Z, a day like 2026-01-05, seconds, "
        + "or a span from now like 2h or 3d"
    }
  }
}

extension Form where Value == Instant.Span {
  package static var span: Form {
    Form { text in
      if case .fromNow(let span)? = StatedTime(text, spanIsToCome: true) { span } else { nil }
    } refusal: {
      "\($1) takes a length of time, e.g. 90min, 26h or 2d"
    }
  }
}

extension Form where Value == Identifier {
  package static var uuid: Form {
    Form({ Identifier($0) }, refusal: { "\($1) takes a UUID" })
  }

  /// The id of something that has no other name.
  package static func uuid(of what: String) -> Form {
    Form({ Identifier($0) }, refusal: { _, _ in "\(what) is named by its id, a UUID" })
  }
}
