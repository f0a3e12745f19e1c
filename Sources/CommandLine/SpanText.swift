package import Base

/// A length of time for people, in the largest unit that is precise enough: `90 s`, `47 h`, `3 d`.
package enum SpanText {
  /// The span in hours below `days`, while each hour counts.
  package static func text(_ span: Instant.Span, hoursBelow days: Instant.Span = .days(2)) -> String
  {
    let seconds = span.milliseconds / 1000
    if seconds < 120 { return "\(seconds) s" }
    if seconds < 7200 { return "\(seconds / 60) min" }
    return span < days ? "\(seconds / 3600) h" : "\(seconds / 86_400) d"
  }
}
