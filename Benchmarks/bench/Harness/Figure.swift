import JSON

/// One number of a report, with its aim if there is one.
///
/// Numbers are integers in a small enough unit, so that the JSON form loses nothing.
struct Figure {
  /// The name for programs, with its unit last: `webhooks_per_second`, `ratio_to_bare_thousandths`.
  let name: String
  let value: Int
  /// The text for people: the number with its unit, and what it counts.
  let text: String
  /// The value to reach; nil if there is no aim.
  var aim: Int?
  /// Whether less is better.
  var isCost = false

  var isReached: Bool? { aim.map { isCost ? value <= $0 : value >= $0 } }

  static func microseconds(_ name: String, _ value: Double, _ what: String) -> Figure {
    Figure(
      name: "\(name)_nanoseconds", value: Int((value * 1000).rounded()),
      text: "\(decimal(value, places: 1)) µs \(what)")
  }

  static func rate(_ name: String, _ perSecond: Double, _ what: String) -> Figure {
    Figure(
      name: "\(name)_per_second", value: Int(perSecond.rounded()),
      text: "\(Int(perSecond.rounded())) \(what) a second")
  }

  /// How much more something costs than before, which should not exceed `limit`.
  static func growth(_ name: String, _ ratio: Double, _ what: String, limit: Double) -> Figure {
    Figure(
      name: "\(name)_thousandths", value: Int((ratio * 1000).rounded(.up)),
      text: "\(decimal(ratio, places: 3)) \(what) (aim: at most \(decimal(limit, places: 2)))",
      aim: Int(limit * 1000), isCost: true)
  }

  /// A value that should not exceed `limit`, a number in the same unit.
  static func cost(
    _ name: String, _ value: Double, _ unit: String, _ what: String, limit: Int
  ) -> Figure {
    Figure(
      name: name, value: Int(value.rounded(.up)),
      text: "\(decimal(value, places: 1)) \(unit) \(what) (aim: at most \(limit) \(unit))",
      aim: limit, isCost: true)
  }

  static func ratio(_ name: String, _ ratio: Double, _ what: String, aim: Double) -> Figure {
    Figure(
      name: "\(name)_thousandths", value: Int((ratio * 1000).rounded(.down)),
      text: "\(decimal(ratio, places: 3)) \(what) (aim: \(decimal(aim, places: 2)))",
      aim: Int(aim * 1000))
  }

  /// A part of something, without an aim.
  static func share(_ name: String, _ share: Double, _ what: String) -> Figure {
    Figure(
      name: "\(name)_thousandths", value: Int((share * 1000).rounded()),
      text: "\(decimal(share, places: 3)) \(what)")
  }

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("name", .string(name)), .init("value", .integer(Int64(value))),
    ]
    if let aim, let isReached {
      members.append(.init("aim", .integer(Int64(aim))))
      members.append(.init("reached", .bool(isReached)))
    }
    return .object(members)
  }

  /// A number with `places` digits after the point.
  static func decimal(_ number: Double, places: Int) -> String {
    let unit = (0..<places).reduce(1) { unit, _ in unit * 10 }
    let scaled = Int((number * Double(unit)).rounded())
    let fraction = String(scaled % unit)
    guard places > 0 else { return String(scaled) }
    return "\(scaled / unit)." + String(repeating: "0", count: places - fraction.count) + fraction
  }
}
