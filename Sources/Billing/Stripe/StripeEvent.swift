package import Base
import JSON
package import Stores
package import Subscriptions
package import Tiers

/// A decoded snapshot event: what it says about which object, as of when.
package struct StripeEvent: Hashable, Sendable {
  package let id: String
  package let type: String
  package let created: Instant
  package let environment: StoreEnvironment
  /// Only for Connect: the account that the event belongs to, which is not ours.
  package let connectedAccount: String?
  /// The API version of `data.object`; null in old events.
  package let apiVersion: String?
  /// The id of `data.object`, whatever its kind.
  package let objectID: String?
  /// The object itself and the objects inside it, if they can concern a subscription.
  package let facts: [Fact]
  /// Terms by which the object can be found, in addition to its id.
  package let terms: [SearchTerm]
  package let notes: Set<Note>

  /// Something that a decoder noticed and an operator may want to know.
  package enum Note: String, Hashable, Sendable, CaseIterable {
    /// Our metadata key has a value that is not an account id. It is ignored.
    case malformedAccount = "malformed_account"
    /// A list inside the object was cut short, so the whole object must be read.
    case listCutShort = "list_cut_short"
  }
}

extension VerifiedDelivery {
  /// The body as an event that `read` makes of its JSON.
  func decoded<Event>(
    _ read: (JSON) throws(JSONError) -> Event
  ) throws(UndecodableDelivery) -> Event {
    let json: JSON
    do { json = try JSON.parseForeign(body) } catch { throw UndecodableDelivery(id: nil, error) }
    do { return try read(json) } catch {
      throw UndecodableDelivery(id: try? json["id"].requireID(), error)
    }
  }
}

extension StripeEvent {
  /// Reads a signed body. It accepts unknown members, kinds and versions, but only valid JSON.
  package init(_ delivery: VerifiedDelivery) throws(UndecodableDelivery) {
    self = try delivery.decoded { (json) throws(JSONError) in try Self(json) }
  }

  /// Reads an event as delivered or listed.
  init(_ json: JSON) throws(JSONError) {
    guard try json["object"].requireString() == "event" else {
      throw json["object"].failure("must be an event")
    }
    id = try json["id"].requireID()
    type = try json["type"].requireID()
    created = try json["created"].requireInstant()
    environment = try json["livemode"].requireBool() ? .live : .sandbox
    connectedAccount = json["account"].reference
    apiVersion = json["api_version"].reference
    let object = try json["data"]["object"].requireObject()
    objectID = object["id"].reference
    var decoder = ObjectDecoder(
      environment: environment, asOf: .second(created), eventType: type)
    try decoder.read(object)
    facts = decoder.facts
    terms = [SearchTerm](stripe: object, in: environment)
    notes = decoder.notes
  }

  /// Requests to read the object that an undecodable event of either shape names.
  static func requests(naming json: JSON) -> [ReadRequest] {
    let isThin = StripeThinEvent.isThin(json)
    let object = isThin ? json["related_object"] : json["data"]["object"]
    let isOurs = json[isThin ? "context" : "account"].reference == nil
    guard isOurs, let isLive = json["livemode"].bool, let id = object["id"].reference,
      let type = json["type"].reference,
      let kind = StripeThinEvent.kind(
        object[isThin ? "type" : "object"].string, of: isThin ? type : "v1.\(type)")
    else { return [] }
    return [
      .undecodable(
        ObjectKey(provider: .stripe, environment: isLive ? .live : .sandbox, kind: kind, id: id))
    ]
  }

  /// Objects that must be read again because this event does not hold all of them.
  package var incompleteObjects: [ObjectKey] {
    notes.contains(.listCutShort) ? facts.prefix(1).map(\.key) : []
  }
}
