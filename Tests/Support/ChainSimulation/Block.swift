import Base
import Crypto
import JSON
import Requests
import TestDevices

typealias Key = [UInt8]

/// What a member of a chain decides: who joins, and who leaves.
struct Block: Equatable {
  let chain: Identifier
  /// The hash of the block before; nil in the root.
  let parent: [UInt8]?
  let epoch: Int64
  let author: Key
  let additions: [Key]
  let removals: [Key]
  private(set) var hash: [UInt8] = []

  init(
    _ chain: Identifier, after parent: [UInt8]?, _ epoch: Int64, by author: Key,
    adding additions: [Key], removing removals: [Key]
  ) {
    (self.chain, self.parent, self.epoch, self.author) = (chain, parent, epoch, author)
    (self.additions, self.removals) = (additions, removals)
    hash = SHA256.hash(signed)
  }

  /// Reads a block that an answer has. Nil if the hash or the signature is not that of the block.
  init?(_ json: JSON) {
    let block = json["block"]
    guard let chain = block["chain"].identifier, let epoch = block["epoch"].integer,
      let author = block["author"].base64
    else { return nil }
    self.init(
      chain, after: block["parent"].base64, epoch, by: author,
      adding: (block["additions"].array ?? []).compactMap(\.base64),
      removing: (block["removals"].array ?? []).compactMap(\.base64))
    guard json["hash"].base64 == hash, let signature = json["signature"].base64,
      let key = Ed25519PublicKey(bytes: author), key.isValid(signature: signature, for: signed)
    else { return nil }
  }

  private var statement: JSONValue {
    [
      "chain": .string(chain.description), "parent": .base64(parent), "epoch": .integer(epoch),
      "author": .base64(author), "additions": .array(additions.map { .base64($0) }),
      "removals": .array(removals.map { .base64($0) }),
    ]
  }

  private var signed: [UInt8] { JSONValue.object([.init("block", statement)]).canonical() }

  func json(signedBy key: Ed25519PrivateKey) -> JSONValue {
    [
      "block": statement, "hash": .base64(hash), "signature": .base64(key.signature(for: signed)),
    ]
  }
}

extension [Block] {
  /// Since which epoch each member is one, after all these blocks.
  var members: [Key: Int64] {
    reduce(into: [:]) { members, block in
      for key in block.removals { members[key] = nil }
      for key in block.additions { members[key] = block.epoch }
    }
  }
}

/// A sealed message. Its body begins with a mark of 32 bytes: that of a commit and of a welcome is the block's hash.
struct Letter {
  enum Kind: String { case message, commit, welcome }

  let id: Identifier
  let kind: Kind
  let body: [UInt8]

  var mark: Mark { Mark(kind: kind, bytes: Array(body.prefix(32))) }

  var json: JSONValue { ["id": .string(id.description), "body": .base64(body)] }
}

/// By what a device knows a message.
struct Mark: Hashable {
  let kind: Letter.Kind
  let bytes: [UInt8]
}

/// A block that is not stored yet, with the mail that it brings.
struct Draft {
  let block: Block
  /// Nil if the block comes without mail.
  let commit: Letter?
  let welcome: Letter?
  /// Whether the revocations of those who leave come along.
  let revokes: Bool
}
