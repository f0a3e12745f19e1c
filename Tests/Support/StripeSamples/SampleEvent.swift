package import Base
package import JSON

/// The place of the members that moved in basil (2025-03-31), by API version.
package enum Shape: Sendable, CaseIterable {
  case acacia, basil

  package var apiVersion: String {
    switch self {
    case .acacia: "2024-09-30.acacia"
    case .basil: "2026-07-29.dahlia"
    }
  }
}

/// A snapshot event in the provider's form, reduced to members that some reader might use.
package struct SampleEvent: Sendable {
  package var id: String
  package var type: String
  package var created: Instant
  package var object: JSONValue
  package var shape: Shape
  package var isLive = true
  package var connectedAccount: String?
  package var pendingWebhookCount: Int64 = 1

  package init(
    id: String, type: String, created: Instant, object: JSONValue, shape: Shape = .basil
  ) {
    self.id = id
    self.type = type
    self.created = created
    self.object = object
    self.shape = shape
  }

  package var json: JSONValue {
    var event: JSONValue = [
      "id": .string(id), "object": "event", "api_version": .string(shape.apiVersion),
      "created": .integer(created.seconds), "data": ["object": object],
      "livemode": .bool(isLive), "pending_webhooks": .integer(pendingWebhookCount),
      "request": ["id": nil, "idempotency_key": nil], "type": .string(type),
    ]
    if let connectedAccount { event = event.adding(["account": .string(connectedAccount)]) }
    return event
  }

  package var body: [UInt8] { json.encoded() }
}

extension JSONValue {
  /// The object with more members; members of the same names are replaced.
  package func adding(_ others: JSONValue) -> JSONValue {
    guard case .object(let members) = self, case .object(let added) = others else { return self }
    let names = Set(added.map(\.name))
    return .object(members.filter { !names.contains($0.name) } + added)
  }

  package static func seconds(_ instant: Instant?) -> JSONValue {
    instant.map { .integer($0.seconds) } ?? .null
  }
}
