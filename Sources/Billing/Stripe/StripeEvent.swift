package import Base
package import JSON
package import Stores
package import Subscriptions
package import Tiers

/// A snapshot event, decoded: what it says about which object, as of when.
package struct StripeEvent: Hashable, Sendable {
  package let id: String
  package let type: String
  package let created: Instant
  package let environment: StoreEnvironment
  /// Only for Connect: the account it belongs to, which is not ours.
  package let connectedAccount: String?
  /// Under which version `data.object` was rendered; null in old events.
  package let apiVersion: String?
  /// The id of `data.object`, of whatever kind it is.
  package let objectID: String?
  /// The object itself and what it carries within, where they can concern a subscription.
  package let facts: [Fact]
  /// What the object may be looked for by, beside its id.
  package let terms: [SearchTerm]
  package let notes: Set<Note>

  /// What a decoder noticed and an operator may want to know.
  package enum Note: String, Hashable, Sendable, CaseIterable {
    /// Our metadata key holds something that is no account id; it is ignored.
    case malformedAccount = "malformed_account"
    /// A list inside the object was cut short, so the object must be read whole.
    case listCutShort = "list_cut_short"
  }

  package init(
    id: String, type: String, created: Instant, environment: StoreEnvironment,
    connectedAccount: String? = nil, apiVersion: String? = nil, objectID: String? = nil,
    facts: [Fact] = [], terms: [SearchTerm] = [], notes: Set<Note> = []
  ) {
    self.id = id
    self.type = type
    self.created = created
    self.environment = environment
    self.connectedAccount = connectedAccount
    self.apiVersion = apiVersion
    self.objectID = objectID
    self.facts = facts
    self.terms = terms
    self.notes = notes
  }
}

/// Why a signed body is no event that we can use.
package enum StripeEventError: Error, Equatable, Sendable, CustomStringConvertible {
  /// API v2: it names an object but does not carry it; `StripeThinEvent` reads it.
  case thin
  /// Signed, so it is recorded; `id` is the event's where it can be read.
  case undecodable(id: String?, JSONError)

  package var description: String {
    switch self {
    case .thin: "it is thin"
    case .undecodable(_, let error): error.description
    }
  }
}

extension StripeEvent {
  /// Reads a signed body. Tolerant of unknown members, kinds and versions, strict about JSON.
  package init(_ delivery: VerifiedDelivery) throws(StripeEventError) {
    let json: JSON
    do { json = try JSON.parseForeign(delivery.body) } catch {
      throw .undecodable(id: nil, error)
    }
    if json["object"].string == "v2.core.event" { throw .thin }
    do { try self.init(json) } catch {
      throw .undecodable(id: json["id"].string.flatMap { isID($0) ? $0 : nil }, error)
    }
  }

  /// Reads an event as it is delivered, or listed.
  init(_ json: JSON) throws(JSONError) {
    guard try json["object"].requireString() == "event" else {
      throw JSONError(code: .wrongType, path: json["object"].path, message: "must be an event")
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

  /// What asks for the object that an event names which cannot be read, of either shape.
  static func requests(naming json: JSON) -> [ReadRequest] {
    let isThin = json["object"].string == "v2.core.event"
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

  /// Objects that must be read again because this event cannot tell all of them.
  package var incompleteObjects: [ObjectKey] {
    notes.contains(.listCutShort) ? facts.prefix(1).map(\.key) : []
  }
}
