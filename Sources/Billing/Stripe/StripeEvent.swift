package import Base
package import JSON
package import Subscriptions

/// A snapshot event, decoded: what it says about which object, as of when.
package struct StripeEvent: Hashable, Sendable {
  package let id: String
  package let type: String
  package let created: Instant
  package let partition: ObjectKey.Partition
  /// Only for Connect: the account it belongs to, which is not ours.
  package let connectedAccount: String?
  /// Under which version `data.object` was rendered; null in old events.
  package let apiVersion: String?
  /// The id of `data.object`, of whatever kind it is.
  package let objectID: String?
  /// The object itself, where it is of a kind that billing mirrors.
  package let fact: StripeFact?
  package let notes: Set<Note>

  /// What a decoder noticed and an operator may want to know.
  package enum Note: String, Hashable, Sendable, CaseIterable {
    /// Our metadata key holds something that is no account id; it is ignored.
    case malformedAccount = "malformed_account"
    /// A list inside the object was cut short, so the object must be read whole.
    case listCutShort = "list_cut_short"
  }

  package init(
    id: String, type: String, created: Instant, partition: ObjectKey.Partition,
    connectedAccount: String? = nil, apiVersion: String? = nil, objectID: String? = nil,
    fact: StripeFact? = nil, notes: Set<Note> = []
  ) {
    self.id = id
    self.type = type
    self.created = created
    self.partition = partition
    self.connectedAccount = connectedAccount
    self.apiVersion = apiVersion
    self.objectID = objectID
    self.fact = fact
    self.notes = notes
  }
}

/// One object as one source shows it.
package struct StripeFact: Hashable, Sendable {
  package let key: ObjectKey
  package let object: StripeObject
  package let asOf: AsOf

  package init(key: ObjectKey, object: StripeObject, asOf: AsOf) {
    self.key = key
    self.object = object
    self.asOf = asOf
  }
}

/// Why a signed body is no event that we can use.
package enum StripeEventError: Error, Equatable, Sendable {
  /// API v2: it names an object but does not carry it. The endpoint must be set to snapshots.
  case thin
  /// Signed, so it is recorded; `id` is the event's where it can be read.
  case undecodable(id: String?, JSONError)
}

extension StripeEvent {
  /// Changes whenever the decoder reads something new; sources keep the one that read them.
  package static let decoderVersion: Int64 = 1

  /// Reads a signed body. Tolerant of unknown members, kinds and versions, strict about JSON.
  package init(_ delivery: VerifiedDelivery) throws(StripeEventError) {
    let json: JSON
    do { json = try JSON.parse(delivery.body) } catch {
      throw .undecodable(id: nil, error)
    }
    if json["object"].string == "v2.core.event" { throw .thin }
    do { try self.init(json) } catch {
      throw .undecodable(id: json["id"].string.flatMap { isID($0) ? $0 : nil }, error)
    }
  }

  private init(_ json: JSON) throws(JSONError) {
    guard try json["object"].requireString() == "event" else {
      throw JSONError(code: .wrongType, path: json["object"].path, message: "must be an event")
    }
    id = try json["id"].requireID()
    type = try json["type"].requireID()
    created = try json["created"].requireInstant()
    partition = try json["livemode"].requireBool() ? .live : .sandbox
    connectedAccount = json["account"].reference
    apiVersion = json["api_version"].reference
    let object = try json["data"]["object"].requireObject()
    objectID = object["id"].reference
    var notes: Set<Note> = []
    let content = try StripeObject(object, eventType: type, created: created, notes: &notes)
    if let content {
      fact = StripeFact(
        key: ObjectKey(
          provider: .stripe, partition: partition, kind: content.kind,
          id: try object["id"].requireID()),
        object: content, asOf: .second(created))
    } else {
      fact = nil
    }
    self.notes = notes
  }
}
