internal import Base
package import JSON
internal import Tiers

/// The exact sums so far as text, for a report that continues on another day.
extension MonthlyReport {
  package var saved: JSONValue {
    [
      "month": .string(month.description),
      "segments": .array(
        segments.sorted { $0.key < $1.key }.map { [$0.key.saved, $0.value.saved] }),
      "movements": .array(movements.map(\.saved)), "trials": .array(trials.map(\.saved)),
      "failures": .array(failures.map(\.saved)),
      "reasons": .array(
        reasons.sorted { $0.key.rawValue < $1.key.rawValue }
          .map { [.string($0.key.rawValue), .integer($0.value)] }),
      "revenue": .array(
        revenue.sorted { $0.key < $1.key }.flatMap { currency, segments in
          segments.sorted { $0.key < $1.key }
            .map { [.string(currency), $0.key.saved, $0.value.saved] }
        }),
      "revenue_of_months": .array(
        revenueOfMonths.sorted { $0.key < $1.key }
          .map { [.string($0.key), .array($0.value.map(\.saved))] }),
      "untold": untold.saved, "began": began.map { .integer($0.milliseconds) } ?? .null,
      "to_date": toDate.map { .integer($0.milliseconds) } ?? .null,
    ]
  }

  /// Reads the text of `saved`. Throws a `JSONError` if `saved` cannot have written it.
  package init(saved: JSON) throws {
    guard let month = Month(try saved["month"].requireString()) else {
      throw saved["month"].strange
    }
    self.init(
      month,
      at: saved["to_date"].isNull
        ? .distantFuture : Instant(milliseconds: try saved["to_date"].requireInteger()))
    for item in try saved["segments"].requireArray() {
      segments[try Segment(saved: item[0])] = try Movement(saved: item[1])
    }
    movements = try Self.each(saved["movements"], of: months)
    trials = try Self.each(saved["trials"], of: months)
    failures = try Self.each(saved["failures"], of: months)
    for item in try saved["reasons"].requireArray() {
      guard let reason = CapReason(rawValue: try item[0].requireString()) else {
        throw item[0].strange
      }
      reasons[reason] = try item[1].requireInteger()
    }
    for item in try saved["revenue"].requireArray() {
      revenue[try item[0].requireString(), default: [:]][try Segment(saved: item[1])] =
        try Revenue(saved: item[2])
    }
    for item in try saved["revenue_of_months"].requireArray() {
      revenueOfMonths[try item[0].requireString()] = try Self.each(item[1], of: months)
    }
    untold = try Untold(saved: saved["untold"])
    began =
      saved["began"].isNull ? nil : Instant(milliseconds: try saved["began"].requireInteger())
  }

  private static func each<Item: Saved>(_ list: JSON, of months: [Month]) throws -> [Item] {
    let items = try list.requireArray()
    guard items.count == months.count else { throw list.strange }
    return try items.map { try Item(saved: $0) }
  }
}

/// A part of a report.
private protocol Saved {
  var saved: JSONValue { get }
  init(saved: JSON) throws
}

/// Numbers in a fixed order.
private protocol Counted: Saved {
  init()
  static var counts: [WritableKeyPath<Self, Int64>] { get }
}

extension Counted {
  fileprivate var saved: JSONValue {
    .array(Self.counts.map { .integer(self[keyPath: $0]) })
  }

  fileprivate init(saved: JSON) throws {
    self.init()
    let numbers = try saved.requireArray()
    guard numbers.count == Self.counts.count else { throw saved.strange }
    for (count, number) in zip(Self.counts, numbers) {
      self[keyPath: count] = try number.requireInteger()
    }
  }
}

extension MonthlyReport.Movement: Counted {
  fileprivate static var counts: [WritableKeyPath<Self, Int64>] {
    [\.opening, \.new, \.returned, \.changedIn, \.changedOut, \.lost, \.closing]
  }
}

extension MonthlyReport.Trials: Counted {
  fileprivate static var counts: [WritableKeyPath<Self, Int64>] {
    [\.opening, \.started, \.converted, \.ended, \.closing]
  }
}

extension MonthlyReport.Failures: Counted {
  fileprivate static var counts: [WritableKeyPath<Self, Int64>] {
    [\.opening, \.failed, \.recovered, \.lost, \.closing]
  }
}

extension MonthlyReport.Untold: Counted {
  fileprivate static var counts: [WritableKeyPath<Self, Int64>] {
    [\.paymentCount, \.reversalCount]
  }
}

extension MonthlyReport.Revenue: Saved {
  fileprivate var saved: JSONValue {
    [
      .integer(paymentCount), .string(gross.saved), .integer(refundCount),
      .string(refunded.saved), .integer(disputeCount), .string(disputed.saved),
    ]
  }

  fileprivate init(saved: JSON) throws {
    func sum(_ item: JSON) throws -> MoneySum {
      guard let sum = MoneySum(saved: try item.requireString()) else { throw item.strange }
      return sum
    }
    self.init()
    paymentCount = try saved[0].requireInteger()
    gross = try sum(saved[1])
    refundCount = try saved[2].requireInteger()
    refunded = try sum(saved[3])
    disputeCount = try saved[4].requireInteger()
    disputed = try sum(saved[5])
  }
}

extension Segment: Saved {
  fileprivate var saved: JSONValue {
    [.string(store), plan.map { .string($0) } ?? .null, .string(period.rawValue)]
  }

  fileprivate init(saved: JSON) throws {
    guard let period = Period(rawValue: try saved[2].requireString()) else {
      throw saved[2].strange
    }
    self.init(
      store: try saved[0].requireString(),
      plan: saved[1].isNull ? nil : try saved[1].requireString(), period: period)
  }
}

extension JSON {
  fileprivate var strange: JSONError {
    JSONError(code: .wrongType, path: path, message: "no report has that")
  }
}
