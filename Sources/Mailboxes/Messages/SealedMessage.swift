package import Base
import Crypto
package import JSON
package import Requests

/// A message that only the devices it goes to can read.
package struct SealedMessage: Sendable {
  /// What a message is for its receivers. A client sends a `message`; the others come with the change of a chain.
  package enum Kind: String, Sendable {
    case message, commit, welcome
  }

  /// The sender's device chooses it, and repeats the message under it.
  package let id: Identifier
  package let kind: Kind
  /// Device keys without duplicates, at most 256.
  package let receivers: [[UInt8]]
  package let body: [UInt8]

  /// As much as a welcome with the ratchet tree of a large group needs. Mailboxes are bounded by their bytes.
  package static let bodyByteCountMax = 1 << 20
  /// A request with one message, in base64, and the keys of its receivers.
  package static let requestByteCountMax = 1536 << 10

  package init(id: Identifier, kind: Kind, receivers: [[UInt8]], body: [UInt8]) {
    self.id = id
    self.kind = kind
    self.receivers = receivers
    self.body = body
  }

  /// Reads `{"id": …, "to": […], "body": …}`.
  init(_ body: [UInt8]) throws(RequestRefusal) {
    let json = try JSON.body(
      body, limits: JSONLimits(byteCountMax: Self.requestByteCountMax))
    try json.requireMembers(["body", "id", "to"])
    self.init(
      id: try json["id"].identifier(), kind: .message, receivers: try Self.receivers(json["to"]),
      body: try json["body"].base64(byteCount: 1...Self.bodyByteCountMax))
  }

  /// Reads a list of 1 to 256 device keys, each once.
  package static func receivers(_ json: JSON) throws(RequestRefusal) -> [[UInt8]] {
    let max = MailboxBounds.receiverCountMax
    guard let list = json.array, 1...max ~= list.count else {
      throw .bodyInvalid(path: json.path, rule: "must be a list of 1 to \(max) device keys")
    }
    let byteCount = Ed25519PublicKey.byteCount
    let keys = try list.map { (json) throws(RequestRefusal) in
      try json.base64(byteCount: byteCount...byteCount)
    }
    guard Set(keys).count == keys.count else {
      throw .bodyInvalid(path: json.path, rule: "must name each device key once")
    }
    return keys
  }

  /// What it counts for in a mailbox.
  var byteCount: Int64 { Int64(body.count) + MailboxBounds.overheadByteCount }

  /// Tells a repeat from another message with the same id. The receivers of a message to a group are not part of it, only
  /// the group is: when it is repeated, the group may have others.
  func digest(inGroup group: Identifier?) -> [UInt8] {
    var bytes = Array("\(kind.rawValue) ".utf8)
    if let group {
      bytes += "group ".utf8
      bytes += group.bytes
    } else {
      bytes += "\(receivers.count) ".utf8
      for key in receivers { bytes += key }
    }
    return SHA256.hash(bytes + body)
  }
}

/// Why a message was not stored for a device.
package enum Undelivered: UInt8, Sendable {
  /// No such key, or its account does not know the sender's or has blocked it. Which, the sender is not told.
  case unknown = 1
  /// The key is revoked.
  case revoked = 2
  /// The device's mailbox has no room: for anyone, or for the sender's account.
  case full = 3
  /// The account takes nothing, because it is suspended or is being deleted.
  case suspended = 4

  /// The word that clients read.
  var word: String {
    switch self {
    case .unknown: "unknown"
    case .revoked: "revoked"
    case .full: "full"
    case .suspended: "suspended"
    }
  }
}

/// A device that a message was not stored for.
package struct RefusedReceiver: Equatable, Sendable {
  package let publicKey: [UInt8]
  package let reason: Undelivered

  static let byteCount = 1 + Ed25519PublicKey.byteCount

  package var json: JSONValue {
    ["key": .base64(publicKey), "reason": .string(reason.word)]
  }

  var bytes: [UInt8] { [reason.rawValue] + publicKey }

  /// Those that a row has; nil if no program of ours wrote it.
  static func list(_ bytes: [UInt8]) -> [RefusedReceiver]? {
    guard bytes.count.isMultiple(of: byteCount) else { return nil }
    var list: [RefusedReceiver] = []
    for start in stride(from: 0, to: bytes.count, by: byteCount) {
      guard let reason = Undelivered(rawValue: bytes[start]) else { return nil }
      list.append(
        RefusedReceiver(
          publicKey: Array(bytes[(start + 1)..<(start + byteCount)]), reason: reason))
    }
    return list
  }
}
