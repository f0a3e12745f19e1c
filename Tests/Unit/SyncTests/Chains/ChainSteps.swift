import Accounts
import Base
import Chains
import Crypto
import JSON
import Mailboxes
import Requests
import Storage
import Sync
import TestDevices
import Testing

/// A block as a device makes it, before it signs it.
struct MadeBlock {
  var chain: Identifier
  var parent: [UInt8]?
  var epoch: Int64
  var author: [UInt8]
  var additions: [[UInt8]] = []
  var removals: [[UInt8]] = []

  private var statement: JSONValue {
    [
      "chain": .string(chain.description), "parent": .base64(parent), "epoch": .integer(epoch),
      "author": .base64(author), "additions": .array(additions.map { .base64($0) }),
      "removals": .array(removals.map { .base64($0) }),
    ]
  }

  private var signed: [UInt8] { JSONValue.object([.init("block", statement)]).canonical() }

  var hash: [UInt8] { SHA256.hash(signed) }

  func json(signedBy key: Ed25519PrivateKey, hash: [UInt8]? = nil) -> JSONValue {
    [
      "block": statement, "hash": .base64(hash ?? self.hash),
      "signature": .base64(key.signature(for: signed)),
    ]
  }
}

/// The head of a chain as a device knows it.
struct KnownHead: Equatable {
  let chain: Identifier
  let epoch: Int64
  let hash: [UInt8]

  init(chain: Identifier, epoch: Int64, hash: [UInt8]) {
    (self.chain, self.epoch, self.hash) = (chain, epoch, hash)
  }

  init(_ block: MadeBlock) { (chain, epoch, hash) = (block.chain, block.epoch, block.hash) }

  init(_ json: JSON, of chain: Identifier) throws {
    self.chain = chain
    epoch = try #require(json["epoch"].integer)
    hash = try #require(json["hash"].string.flatMap { Base64.standard.decode($0) })
  }
}

extension TestDevice {
  /// A root that only the device signed yet.
  func chainRoot(_ chain: Identifier = Random.identifier()) -> MadeBlock {
    MadeBlock(chain: chain, parent: nil, epoch: 0, author: publicKey, additions: [publicKey])
  }

  func block(
    after head: KnownHead, adding additions: [TestDevice] = [], removing removals: [TestDevice] = []
  ) -> MadeBlock {
    MadeBlock(
      chain: head.chain, parent: head.hash, epoch: head.epoch + 1, author: publicKey,
      additions: additions.map(\.publicKey), removals: removals.map(\.publicKey))
  }

  func makeChain(_ root: MadeBlock, own: Bool = false) throws -> Answer {
    try post(
      "/v1/chains", ["blocks": .array([root.json(signedBy: key)]), "own": .bool(own)])
  }

  /// A new chain of this device, with the others as members.
  func chain(with others: [TestDevice] = [], own: Bool = false) throws -> KnownHead {
    let root = chainRoot()
    let answer = try makeChain(root, own: own)
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    let head = KnownHead(root)
    return try others.isEmpty ? head : append(block(after: head, adding: others))
  }

  func send(_ blocks: [JSONValue], to chain: Identifier) throws -> Answer {
    try post("/v1/chains/\(chain)/blocks", ["blocks": .array(blocks)])
  }

  func send(_ blocks: MadeBlock...) throws -> Answer {
    try send(blocks.map { $0.json(signedBy: key) }, to: blocks[0].chain)
  }

  /// Sends a block that must be stored.
  @discardableResult
  func append(_ block: MadeBlock) throws -> KnownHead {
    let answer = try send(block)
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    return KnownHead(block)
  }

  /// The statement that revokes another device of the account.
  func revocation(of device: TestDevice) throws -> JSONValue {
    let statement = try state(.revocation, device.publicKey)
    return ["revocation": statement.json, "signature": statement.signature(by: key)]
  }

  /// The keys of a chain's members.
  func chainMembers(_ chain: Identifier) throws -> Set<[UInt8]> {
    let answer = try get("/v1/chains/\(chain)")
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    let keys = try (answer.json["members"].array ?? []).compactMap { $0["public_key"].string }
    return Set(keys.compactMap { Base64.standard.decode($0) })
  }

  func head(of chain: Identifier) throws -> KnownHead {
    let answer = try get("/v1/chains/\(chain)")
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    return try KnownHead(answer.json["head"], of: chain)
  }

  /// The epochs of the blocks after one, page by page.
  func epochs(of chain: Identifier, since: Int64? = nil, limit: Int = 100) throws -> [Int64] {
    var (epochs, last) = ([Int64](), since)
    while true {
      let since = last.map { "since=\($0)&" } ?? ""
      let answer = try get("/v1/chains/\(chain)/blocks?\(since)limit=\(limit)")
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      let page = try (answer.json["blocks"].array ?? []).compactMap { $0["block"]["epoch"].integer }
      epochs += page
      guard try answer.json["more"].bool == true, let end = page.last else { return epochs }
      last = end
    }
  }

  /// The rule that a refused request names.
  func rule(_ answer: Answer) throws -> String? {
    guard answer.status == 422, try answer.problem == "blocks_refused" else {
      throw UnexpectedAnswer(answer)
    }
    return try answer.json["rule"].string
  }
}

extension TestServer {
  /// Records an issue unless an account's chains keep every rule, and its usage is what they add up to.
  func requireChains(_ device: TestDevice) throws {
    let account = try device.account
    #expect(try SignatureChains.faults(of: account, in: database) == [])
    let finding = try #require(try chainRecount.audit(account))
    #expect(finding.isRight, "\(finding)")
  }

  var chainRecount: Recount {
    Recount(
      database, catalogue: catalogue,
      protocols: [FileTrees.self, DeviceMailboxes.self, SignatureChains.self])
  }
}
