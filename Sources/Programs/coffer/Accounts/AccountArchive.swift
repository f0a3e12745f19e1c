internal import Archive
internal import Base
internal import CommandLine
internal import JSON
internal import Storage
internal import Stores
internal import Subscriptions
internal import Tiers

/// How an account lies in an archive: docs/export.md.
enum AccountArchive {
  static let kind = "coffer-account"
  /// Rises when programs of before cannot read what is written.
  static let format = 1

  static let account = "account.json"
  static let billing = "billing.json"
  static let files = "files/"
  static let contents = "contents/"
  static let deliveries = "deliveries/"

  /// Names sort as they were made.
  static func numbered(_ folder: String, _ number: Int) -> String {
    let text = String(number)
    return folder + String(repeating: "0", count: max(0, 6 - text.count)) + text + ".json"
  }

  /// A page of records is a megabyte at most, billing's part what an account could ever decide.
  static let limits = JSONLimits(byteCountMax: 64 << 20, valueCountMax: 1 << 20)
}

/// What is told of a delivery beside its message, which is a file of its own: what came, as it came.
struct ArchivedDelivery: Sendable {
  let provider: ObjectKey.Provider
  let environment: StoreEnvironment?
  let id: String
  let received: Instant
  let isForeign: Bool
  /// The file with its message.
  let file: String

  var json: JSONValue {
    [
      "provider": .string(provider.rawValue),
      "environment": environment.map { .string($0.rawValue) } ?? .null, "id": .string(id),
      "received_ms": .integer(received.milliseconds), "foreign": .bool(isForeign),
      "file": .string(file),
    ]
  }

  init(
    provider: ObjectKey.Provider, environment: StoreEnvironment?, id: String, received: Instant,
    isForeign: Bool, file: String
  ) {
    self.provider = provider
    self.environment = environment
    self.id = id
    self.received = received
    self.isForeign = isForeign
    self.file = file
  }

  init(_ json: JSON) throws(JSONError) {
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
