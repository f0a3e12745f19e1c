import Accounts
import Base
import Crypto
import JSON
import Requests

enum LogShareChange: Sendable {
  case grant(LogGrant)
  case accept

  private enum State: String, CaseIterable { case granted, accepted }

  /// Reads a change of the share of a log with an account. A grant is checked against its signature by `author`.
  init(
    _ body: [UInt8], of log: Identifier, with account: Identifier,
    by author: () throws -> Ed25519PublicKey
  ) throws {
    let json = try JSON.body(body)
    switch try json["state"].oneOf(State.self) {
    case .granted:
      self = .grant(try LogGrant(json, of: log, to: account, by: author()))
    case .accepted:
      try json.requireMembers(["state"])
      self = .accept
    }
  }
}

/// An owner's grant of a share, signed by its device. So a server cannot invent one, with a key that it knows.
struct LogGrant: Sendable {
  let mode: ShareMode
  let key: [UInt8]
  let author: [UInt8]
  let signature: [UInt8]

  static let keyByteCountMax = 256

  fileprivate init(
    _ json: JSON, of log: Identifier, to account: Identifier, by author: Ed25519PublicKey
  ) throws(RequestRefusal) {
    try json.requireMembers(["key", "mode", "signature", "state"])
    mode = try json["mode"].oneOf(ShareMode.self)
    key = try json["key"].base64(byteCount: 1...Self.keyByteCountMax)
    let count = Ed25519PublicKey.signatureByteCount
    signature = try json["signature"].base64(byteCount: count...count)
    self.author = author.bytes
    guard
      author.isValid(
        signature: signature, for: Self.signed(log: log, account: account, mode: mode, key: key))
    else {
      throw .bodyInvalid(
        path: json["signature"].path,
        rule: "is no signature of the canonical form of log_share by the key of the request")
    }
  }

  /// The bytes that are signed: RFC 8785 (JCS) of `{"log_share": …}`.
  private static func signed(
    log: Identifier, account: Identifier, mode: ShareMode, key: [UInt8]
  ) -> [UInt8] {
    let members: JSONValue = [
      "account": .string(account.description), "key": .base64(key),
      "log": .string(log.description), "mode": .string(mode.rawValue), "state": "granted",
    ]
    return JSONValue.object([.init("log_share", members)]).canonical()
  }
}
