import Accounts
import Base
import Crypto
import JSON
import Requests

/// Blocks of one device, one after the other, that are stored together or not at all.
package struct ChainBatch: Sendable {
  static let bodyByteCountMax = 256 << 10
  static let blockCountMax = 64
  /// The keys that all blocks name, each of which may change a row or two.
  static let keyCountMax = 512

  /// The statements that revoke a device which leaves the account's own chain, by its key.
  struct Revocation: Sendable {
    let stated: KeyStatement
    let signature: KeySignature
  }

  package let blocks: [ChainBlock]
  let revocations: [Revocation]
  /// What is wrong with the first block whose hash or signature does not fit.
  let forgery: ChainFailure?

  /// Reads `blocks` and `revocations` of a body, and checks hashes and signatures.
  ///
  /// - Parameter author: Who made the request. Called only if there are revocations, because a session makes none.
  init(
    _ body: JSON, blockCount: ClosedRange<Int>,
    counting signatures: SignatureCounter, author: () throws(RequestRefusal) -> Ed25519PublicKey
  ) throws(RequestRefusal) {
    guard let list = body["blocks"].array, blockCount.contains(list.count) else {
      throw .bodyInvalid(
        path: "$.blocks",
        rule: blockCount.count == 1
          ? "must be a list of one block"
          : "must be a list of \(blockCount.lowerBound) to \(blockCount.upperBound) blocks")
    }
    blocks = try list.map { (json) throws(RequestRefusal) in try ChainBlock(json) }
    let keyCount = blocks.reduce(0) { $0 + $1.additions.count + $1.removals.count }
    guard keyCount <= Self.keyCountMax else {
      throw .bodyInvalid(
        path: "$.blocks", rule: "must name at most \(Self.keyCountMax) keys in all")
    }
    let revoking = try body["revocations"].optionalArray()
    guard revoking.count <= Self.blockCountMax else {
      throw .bodyInvalid(
        path: "$.revocations", rule: "must be a list of at most \(Self.blockCountMax) revocations")
    }
    revocations = try revoking.map { (json) throws(RequestRefusal) in
      try json.requireMembers(["revocation", "signature"])
      signatures.countStatement()
      let stated = try KeyStatement(.revocation, of: json)
      return Revocation(
        stated: stated, signature: try stated.keySignature(of: json, by: try author()))
    }
    let leaving = Set(blocks.flatMap(\.removals))
    guard revocations.allSatisfy({ leaving.contains($0.stated.key) }) else {
      throw .bodyInvalid(path: "$.revocations", rule: "must be of keys that a block removes")
    }
    var forgery: ChainFailure?
    for (index, block) in blocks.enumerated() where forgery == nil {
      signatures.countStatement()
      forgery = block.forgery.map { ChainFailure(index: index, rule: $0) }
    }
    self.forgery = forgery
  }

  /// The keys whose membership the blocks depend on.
  var named: Set<[UInt8]> {
    Set(blocks.flatMap { [$0.author] + $0.additions + $0.removals })
  }

  var added: Set<[UInt8]> { Set(blocks.flatMap(\.additions)) }

  var removed: Set<[UInt8]> { Set(blocks.flatMap(\.removals)) }

  /// Whether it takes members away and gives nothing. That works at any usage, also of a suspended account.
  package var onlyRemoves: Bool { blocks.allSatisfy(\.onlyRemoves) }

  func require(author: [UInt8], chain: Identifier) throws(ChainRefusal) {
    if let forgery { throw .blocksRefused(forgery) }
    for (index, block) in blocks.enumerated() {
      guard block.author == author else {
        throw .blocksRefused(ChainFailure(index: index, rule: .authorDiffers))
      }
      guard block.chain == chain else {
        throw .blocksRefused(ChainFailure(index: index, rule: .chainDiffers))
      }
    }
  }
}
