package import Base
import JSON
import Stores
package import Subscriptions
package import Tiers

/// The change that a delivery or a decision made to what is owed for one subscription. It is stored with the
/// transition of state or owner that came with it. A renewal comes with none, and has a row of its own.
package struct OwedChange: Sendable, Equatable {
  package let noticed: Instant
  /// Spans that were owed and no longer are, ascending.
  package let before: [Span]
  /// Spans that are owed and were not before, ascending.
  package let after: [Span]

  /// A plan owed for one reason without a gap, whichever objects prove it.
  package struct Span: Sendable, Equatable {
    package let planID: String
    package let from: Instant
    package fileprivate(set) var to: Instant
    package let why: CapReason
  }

  /// Nil if the two owe the same.
  init?(from before: Coverage, to after: Coverage, at noticed: Instant) {
    let (old, new) = (Self.spans(of: before), Self.spans(of: after))
    guard old != new else { return nil }
    self.noticed = noticed
    self.before = old.filter { !new.contains($0) }
    self.after = new.filter { !old.contains($0) }
  }

  private static func spans(of coverage: Coverage) -> [Span] {
    var spans: [Span] = []
    for interval in coverage.intervals {
      let before = spans.lastIndex { $0.planID == interval.planID && $0.why == interval.why }
      if let before, interval.from <= spans[before].to {
        spans[before].to = max(spans[before].to, interval.to)
      } else {
        spans.append(Span(interval))
      }
    }
    return spans
  }

  /// Reads what `beforeText` and `afterText` returned.
  package init(noticed: Instant, before: String, after: String) throws {
    self.noticed = noticed
    self.before = try Self.spans(before)
    self.after = try Self.spans(after)
  }

  var beforeText: String { Self.text(before) }
  var afterText: String { Self.text(after) }

  private static func text(_ spans: [Span]) -> String {
    let json = JSONValue.array(
      spans.map { span in
        .array([
          .string(span.planID), .integer(span.from.milliseconds), .integer(span.to.milliseconds),
          .string(span.why.rawValue),
        ])
      })
    return String(decoding: json.encoded(), as: UTF8.self)
  }

  private static func spans(_ text: String) throws -> [Span] {
    try JSON.parse(Array(text.utf8), limits: .stored).requireArray().map { span in
      Span(
        planID: try span[0].requireString(), from: try span[1].requireInstant(),
        to: try span[2].requireInstant(), why: try span[3].require("a reason"))
    }
  }
}

extension OwedChange.Span {
  package init(_ interval: Coverage.Interval) {
    self.init(planID: interval.planID, from: interval.from, to: interval.to, why: interval.why)
  }
}
