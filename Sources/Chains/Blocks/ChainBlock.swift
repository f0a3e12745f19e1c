import Base
import Crypto
import JSON
import Requests

/// Who joins a group, and who leaves it, as a member decided. Each block has one parent, so they are in one order.
package struct ChainBlock: Sendable, Equatable {
  let chain: Identifier
  /// The hash of the block before; nil for the root.
  let parent: [UInt8]?
  /// The block's place in the chain: 0 for the root.
  let epoch: Int64
  let author: [UInt8]
  /// Keys in the order in which the author named them. A block may remove a member and add it again: it joins anew.
  package let additions: [[UInt8]]
  let removals: [[UInt8]]
  /// SHA-256 of what the author signed.
  let hash: [UInt8]
  let signature: [UInt8]

  static let hashByteCount = 32
  static let keyCountMax = ChainMembers.countMax
  static let epochMax: Int64 = 1_000_000
  /// Those of a batch after the last one are read, so that its client is told that the chain is full.
  private static let readEpochMax = epochMax + 64
  /// The charge of a block: its row and its part of the index.
  private static let overheadByteCount = 256
  /// The charge of each key that it names: in its row, and the row of a member.
  private static let keyByteCount = 128

  /// Whether it takes members away and gives nothing.
  var onlyRemoves: Bool { additions.isEmpty && !removals.isEmpty }

  var chargedByteCount: Int64 {
    Int64(Self.overheadByteCount + (additions.count + removals.count) * Self.keyByteCount)
  }

  private var statement: JSONValue {
    [
      "additions": .array(additions.map { .base64($0) }), "author": .base64(author),
      "chain": .string(chain.description), "epoch": .integer(epoch), "parent": .base64(parent),
      "removals": .array(removals.map { .base64($0) }),
    ]
  }

  /// The bytes that are hashed and signed: RFC 8785 (JCS) of `{"block": …}`.
  private var signed: [UInt8] {
    JSONValue.object([.init("block", statement)]).canonical()
  }

  /// Which of hash and signature does not fit the block; nil if both do.
  var forgery: ChainRule? {
    let signed = signed
    guard SHA256.hash(signed) == hash else { return .hashInvalid }
    let key = Ed25519PublicKey(bytes: author)
    return key?.isValid(signature: signature, for: signed) == true ? nil : .signatureInvalid
  }

  /// `block`, `hash` and `signature`, as they were sent.
  var members: [JSONValue.Member] {
    [
      .init("block", statement), .init("hash", .base64(hash)),
      .init("signature", .base64(signature)),
    ]
  }
}

extension ChainBlock {
  /// Reads `{"block": …, "hash": …, "signature": …}`. Hash and signature are only read.
  init(_ json: JSON) throws(RequestRefusal) {
    try json.requireMembers(["block", "hash", "signature"])
    let block = json["block"]
    try block.requireMembers(["additions", "author", "chain", "epoch", "parent", "removals"])
    guard let epoch = block["epoch"].integer, 0...Self.readEpochMax ~= epoch else {
      throw .bodyInvalid(
        path: block["epoch"].path, rule: "must be a number from 0 to \(Self.readEpochMax)")
    }
    let signatureByteCount = Ed25519PublicKey.signatureByteCount
    self.init(
      chain: try block["chain"].identifier(),
      parent: block["parent"].isNull ? nil : try block["parent"].hash(), epoch: epoch,
      author: try block["author"].key(), additions: try block["additions"].keys(),
      removals: try block["removals"].keys(), hash: try json["hash"].hash(),
      signature: try json["signature"].base64(byteCount: signatureByteCount...signatureByteCount))
  }
}

extension JSON {
  fileprivate func hash() throws(RequestRefusal) -> [UInt8] {
    try base64(byteCount: ChainBlock.hashByteCount...ChainBlock.hashByteCount)
  }

  fileprivate func key() throws(RequestRefusal) -> [UInt8] {
    try base64(byteCount: Ed25519PublicKey.byteCount...Ed25519PublicKey.byteCount)
  }

  /// Different keys.
  fileprivate func keys() throws(RequestRefusal) -> [[UInt8]] {
    guard let values = array, values.count <= ChainBlock.keyCountMax else {
      throw .bodyInvalid(
        path: path, rule: "must be a list of at most \(ChainBlock.keyCountMax) keys")
    }
    let keys = try values.map { (value) throws(RequestRefusal) in try value.key() }
    guard Set(keys).count == keys.count else {
      throw .bodyInvalid(path: path, rule: "must not name a key twice")
    }
    return keys
  }
}
