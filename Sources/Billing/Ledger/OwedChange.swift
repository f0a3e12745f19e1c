package import Base
internal import JSON
internal import Storage
internal import Subscriptions
package import Tiers

/// What a delivery or a decision changed of what one subscription is owed: a renewal changes neither
/// its state nor its owner.
package struct OwedChange: Sendable, Equatable {
  package let noticed: Instant
  /// What was owed and is not any more, ascending.
  package let before: [Span]
  /// What is owed and was not, ascending.
  package let after: [Span]

  /// A plan owed for one reason without a gap, whichever objects say so.
  package struct Span: Sendable, Equatable {
    package let planID: String
    package let from: Instant
    package fileprivate(set) var to: Instant
    package let why: CapReason
  }

  /// Nil where the two owe the same.
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
        spans.append(
          Span(
            planID: interval.planID, from: interval.from, to: interval.to, why: interval.why))
      }
    }
    return spans
  }

  func write(of key: ObjectKey, from entry: Int64, in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO billing.owed_changes (object, entry, noticed_ms, owed_before, owed_after)
      VALUES ($1, $2, $3, $4, $5) ON CONFLICT (object, entry, noticed_ms) DO NOTHING
      """, .text(key.description), .integer(entry), .instant(noticed), .text(Self.text(before)),
      .text(Self.text(after)))
  }

  /// What one delivery or decision changed, in its order: again where it was replayed.
  static func all(
    of key: ObjectKey, from entry: Int64, reading reader: Reader
  ) throws -> [OwedChange] {
    try reader.rows(
      """
      SELECT noticed_ms, owed_before, owed_after FROM billing.owed_changes
      WHERE object = $1 AND entry = $2 ORDER BY noticed_ms LIMIT 100
      """, .text(key.description), .integer(entry)
    ) { row in
      OwedChange(
        noticed: try row.instant(0), before: try spans(row.text(1)),
        after: try spans(row.text(2)))
    }
  }

  private init(noticed: Instant, before: [Span], after: [Span]) {
    self.noticed = noticed
    self.before = before
    self.after = after
  }

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
    try JSON.parse(Array(text.utf8)).requireArray().map { span in
      Span(
        planID: try span[0].requireString(), from: try span[1].requireInstant(),
        to: try span[2].requireInstant(), why: try span[3].requireReason())
    }
  }
}
