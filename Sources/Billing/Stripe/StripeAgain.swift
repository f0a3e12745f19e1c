import Base
import JSON
package import Stores
package import Subscriptions

extension StripeStore {
  package func delivered(again kept: KeptMessage) throws -> DecodedDelivery {
    try DecodedDelivery(VerifiedDelivery(uncheckedBody: kept.body, receivedAt: kept.received))
  }

  package func answered(
    again kept: KeptMessage, to key: ObjectKey, readNumber: Int64
  ) throws -> StoreAnswer {
    let parts = try JSON.parseForeign(kept.body, limits: .transcript).requireArray().map {
      try TranscriptPart($0)
    }
    var rest: [String: [JSON]] = [:]
    for part in parts {
      if let object = part.continued { rest[object, default: []] += part.objects }
    }
    var answer = StoreAnswer()
    for part in parts where part.continued == nil {
      var decoder = ObjectDecoder(environment: key.environment, asOf: part.asOf)
      decoder.rest = rest
      for object in part.objects { try decoder.read(object) }
      answer.add(decoder)
    }
    return answer
  }
}

extension JSONLimits {
  /// Enough for all answers of one read.
  fileprivate static let transcript = JSONLimits(byteCountMax: 1 << 30, valueCountMax: 1 << 24)
}

/// One answer of a read, as stored in its transcript.
private struct TranscriptPart {
  let asOf: AsOf
  /// The object or the list of objects that it shows.
  let objects: [JSON]
  /// The object whose own list it continues; nil for any other answer.
  let continued: String?

  init(_ json: JSON) throws(JSONError) {
    let from = try json["from"].requireStoredInstant()
    let to = try json["to"].requireStoredInstant()
    guard from < to else { throw json["to"].failure("must be later than from") }
    asOf = AsOf(from: from, to: to)
    let answer = json["answer"]
    objects = answer["object"].string == "list" ? try answer["data"].requireArray() : [answer]
    let target = try json["target"].requireString()
    let path = target.prefix { $0 != "?" }.split(separator: "/").map(String.init)
    if path.count == 4, path[1] == "invoices", path[3] == "lines" {
      continued = path[2]
    } else if path.last == "subscription_items" {
      continued = target.split { "?&".contains($0) }.first { $0.hasPrefix("subscription=") }
        .map { String($0.dropFirst("subscription=".count)) }
    } else {
      continued = nil
    }
  }
}
