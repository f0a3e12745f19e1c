import Accounts
import Base
import Chains
import JSON
import Mailboxes
import Requests

/// A change of a group: the block of its chain, the commit for its members and the welcome for those that join.
struct Commit: Sendable {
  struct Letter: Sendable {
    let id: Identifier
    let body: [UInt8]

    init(_ json: JSON) throws(RequestRefusal) {
      try json.requireMembers(["body", "id"])
      id = try json["id"].identifier()
      body = try json["body"].base64(byteCount: 1...SealedMessage.bodyByteCountMax)
    }

    func message(_ kind: SealedMessage.Kind, to receivers: [[UInt8]]) -> SealedMessage {
      SealedMessage(id: id, kind: kind, receivers: receivers, body: body)
    }
  }

  /// Has one block: a commit of MLS makes one epoch.
  let batch: ChainBatch
  let commit: Letter
  let welcome: Letter?

  /// A block with revocations, and two messages in base64.
  static let bodyByteCountMax = 3 << 20

  init(_ body: [UInt8], of request: AccountRequest, _ host: ProtocolHost) throws {
    let json = try JSON.body(body, limits: JSONLimits(byteCountMax: Self.bodyByteCountMax))
    try json.requireMembers(["blocks", "commit", "revocations", "welcome"])
    batch = try ChainBatch(json, blockCount: 1...1, of: request, host)
    commit = try Letter(json["commit"])
    welcome = json["welcome"].exists ? try Letter(json["welcome"]) : nil
    guard welcome?.id != commit.id else {
      throw RequestRefusal.bodyInvalid(path: "$.welcome.id", rule: "must not be that of the commit")
    }
    guard welcome == nil || !batch.blocks[0].additions.isEmpty else {
      throw RequestRefusal.bodyInvalid(
        path: "$.welcome", rule: "must be absent, because the block adds no member")
    }
  }
}
