package import Base
package import JSON
package import Subscriptions
package import Tiers

/// The form of an account in an archive: docs/export.md.
package enum AccountArchive {
  package static let kind = "coffer-account"
  /// Rises when older programs cannot read what is written.
  package static let format = 1

  package static let account = "account.json"
  package static let billing = "billing.json"
  package static let deliveries = "deliveries/"

  /// A page of records has at most a megabyte; billing's part has at most what an account could ever decide.
  package static let limits = JSONLimits(byteCountMax: 64 << 20, valueCountMax: 1 << 20)
}

/// The data of a delivery besides its message. The message is a file of its own: the bytes as they came.
package struct ArchivedDelivery: Sendable {
  package let provider: ObjectKey.Provider
  package let environment: StoreEnvironment?
  package let id: String
  package let received: Instant
  package let isForeign: Bool
  /// The file with its message.
  package let file: String

  package var json: JSONValue {
    [
      "provider": .string(provider.rawValue),
      "environment": environment.map { .string($0.rawValue) } ?? .null, "id": .string(id),
      "received_ms": .integer(received.milliseconds), "foreign": .bool(isForeign),
      "file": .string(file),
    ]
  }
}

extension ArchivedDelivery {
  package init(_ json: JSON) throws(JSONError) {
    guard let provider = ObjectKey.Provider(rawValue: try json["provider"].requireString()) else {
      throw JSONError(code: .wrongType, path: json.path, message: "names no store")
    }
    self.provider = provider
    environment = json["environment"].string.flatMap { StoreEnvironment(rawValue: $0) }
    id = try json["id"].requireString()
    received = Instant(milliseconds: try json["received_ms"].requireInteger())
    isForeign = try json["foreign"].requireBool()
    file = try json["file"].requireString()
  }
}
