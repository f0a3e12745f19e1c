import Base
import JSON
import Stores
import Subscriptions
import Tiers

extension Coverage {
  /// The only text form of a coverage, for its row: equal coverages give equal texts.
  var text: String {
    let json: JSONValue = [
      "intervals": .array(
        intervals.map { interval in
          .array([
            .string(interval.planID), .integer(interval.from.milliseconds),
            .integer(interval.to.milliseconds), .string(interval.why.rawValue),
            .string(interval.evidence.kind.rawValue), .string(interval.evidence.id),
          ])
        }),
      "endings": .array(
        endings.map { .array([.integer($0.at.milliseconds), .string($0.reason.rawValue)]) }),
      "alarms": .array(
        alarms.map(\.fields).sorted { $0.lexicographicallyPrecedes($1) }.map {
          .array($0.map { .string($0) })
        }),
    ]
    return String(decoding: json.encoded(), as: UTF8.self)
  }

  package init(text: String) throws {
    let json = try JSON.parse(Array(text.utf8), limits: .stored)
    self.init(
      intervals: try json["intervals"].requireArray().map { try Interval($0) },
      endings: try json["endings"].requireArray().map {
        Schedule.Ending(at: try $0[0].requireInstant(), reason: try $0[1].require("a reason"))
      },
      alarms: Set(try json["alarms"].requireArray().map { try Alarm($0) }))
  }
}

extension Coverage.Interval {
  fileprivate init(_ json: JSON) throws {
    self.init(
      planID: try json[0].requireString(), from: try json[1].requireInstant(),
      to: try json[2].requireInstant(), why: try json[3].require("a reason"),
      evidence: Coverage.Evidence(
        try json[4].require("an object kind"), try json[5].requireString()))
  }
}

extension Coverage.Alarm {
  fileprivate var fields: [String] {
    switch self {
    case .unknownProduct(let price, let product): [name.rawValue, price ?? "", product ?? ""]
    case .unmappedProduct(let id): [name.rawValue, id]
    case .unknownStatus(let status): [name.rawValue, status]
    case .paidAfterEnd(let invoice): [name.rawValue, invoice]
    case .unpaidItem(let product): [name.rawValue, product]
    case .activeWithoutPayment: [name.rawValue]
    case .reversal(let kind, let object): [name.rawValue, kind.rawValue, object]
    case .irregularPayment(let irregularity, let object):
      [name.rawValue, irregularity.rawValue, object]
    }
  }

  fileprivate init(_ json: JSON) throws {
    let value = json[1].string ?? ""
    switch json[0].string.flatMap({ AlarmName(rawValue: $0) }) {
    case .unknownProduct:
      let product = json[2].string ?? ""
      self = .unknownProduct(
        price: value.isEmpty ? nil : value, product: product.isEmpty ? nil : product)
    case .unmappedProduct: self = .unmappedProduct(value)
    case .unknownStatus: self = .unknownStatus(value)
    case .paidAfterEnd: self = .paidAfterEnd(invoice: value)
    case .unpaidItem: self = .unpaidItem(product: value)
    case .activeWithoutPayment: self = .activeWithoutPayment
    case .reversal:
      self = .reversal(try json[1].require("a reversal"), object: try json[2].requireString())
    case .irregularPayment:
      self = .irregularPayment(
        try json[1].require("an irregularity"), object: try json[2].requireString())
    case .unplannedEdge, .contestedOwner, .doublePayment, .unacknowledged, .misconfigured,
      .renewalUnread, nil:
      throw JSONError(code: .wrongType, path: json.path, message: "must be an alarm")
    }
  }
}

extension JSON {
  func requireInstant() throws(JSONError) -> Instant {
    Instant(milliseconds: try requireInteger())
  }

  /// The value of the type that the context wants; `name` is what it must be.
  func require<Value: RawRepresentable<String>>(_ name: String) throws(JSONError) -> Value {
    guard let value = Value(rawValue: try requireString()) else {
      throw JSONError(code: .wrongType, path: path, message: "must be \(name)")
    }
    return value
  }
}
