import Base
import Crypto
import JSON
import Requests
import TestDevices

/// What a device asks about chains, and about the mail that they bring.
enum ChainAct {
  case make(Block, isOwn: Bool)
  case chains
  case members(Identifier)
  case blocks(Identifier, since: Int64?, limit: Int)
  case append(Draft)
  case tell(Identifier, epoch: Int64, Letter)
  /// Deletes a chain, or leaves that of another account.
  case leave(Identifier)
  case read(after: Int64, limit: Int)
  case acknowledge(Int64)
  /// Pushes a version of a document that no one has.
  case push(Identifier)

  var name: String {
    switch self {
    case .make: "make a chain"
    case .chains: "chains"
    case .members: "members"
    case .blocks: "blocks"
    case .append(let draft):
      "append +\(draft.block.additions.count) -\(draft.block.removals.count)"
        + (draft.commit == nil ? " without mail" : "")
    case .tell: "tell the members"
    case .leave: "leave"
    case .read: "read"
    case .acknowledge: "acknowledge"
    case .push: "push"
    }
  }

  func request(by device: TestDevice) throws -> TestDevice.Signed {
    func post(_ target: String, _ members: [JSONValue.Member]) -> TestDevice.Signed {
      device.sign("POST", target, body: JSONValue.object(members).encoded())
    }
    switch self {
    case .make(let root, let isOwn):
      return post(
        "/v1/chains",
        [
          .init("blocks", .array([root.json(signedBy: device.key)])),
          .init("own", .bool(isOwn)),
        ])
    case .chains: return device.sign("GET", "/v1/chains")
    case .members(let chain): return device.sign("GET", "/v1/chains/\(chain)")
    case .blocks(let chain, let since, let limit):
      let after = since.map { "&since=\($0)" } ?? ""
      return device.sign("GET", "/v1/chains/\(chain)/blocks?limit=\(limit)\(after)")
    case .append(let draft):
      let route = draft.commit == nil ? "blocks" : "commits"
      return post("/v1/chains/\(draft.block.chain)/\(route)", try Self.body(of: draft, by: device))
    case .tell(let chain, let epoch, let letter):
      return post(
        "/v1/chains/\(chain)/messages",
        [.init("epoch", .integer(epoch)), .init("message", letter.json)])
    case .leave(let chain): return device.sign("DELETE", "/v1/chains/\(chain)")
    case .read(let number, let limit):
      return device.sign("GET", "/v1/mailbox?after=\(number)&limit=\(limit)")
    case .acknowledge(let number): return device.sign("DELETE", "/v1/mailbox/\(number)")
    case .push(let document):
      return post(
        "/v1/documents", [.init("versions", .array([Self.version(of: document, by: device)]))])
    }
  }

  private static func body(
    of draft: Draft, by device: TestDevice
  ) throws -> [JSONValue.Member] {
    var members: [JSONValue.Member] = [
      .init("blocks", .array([draft.block.json(signedBy: device.key)]))
    ]
    if let commit = draft.commit { members.append(.init("commit", commit.json)) }
    if let welcome = draft.welcome { members.append(.init("welcome", welcome.json)) }
    if draft.revokes {
      let revocations = try draft.block.removals.map { key -> JSONValue in
        let statement = try device.state(.revocation, key)
        return [
          "revocation": statement.json, "signature": statement.signature(by: device.key),
        ]
      }
      members.append(.init("revocations", .array(revocations)))
    }
    return members
  }

  private static func version(of document: Identifier, by device: TestDevice) -> JSONValue {
    let version: JSONValue = [
      "document": .string(document.description), "author": .base64(device.key.publicKey.bytes),
      "counter": .integer(1), "created": .integer(1_780_000_000),
      "clock": .object([]), "deleted": .bool(true),
    ]
    let signed = JSONValue.object([.init("version", version)]).canonical()
    return ["version": version, "signature": .base64(device.key.signature(for: signed))]
  }
}

/// A request that a device has signed. The network may lose it, repeat it, or bring it later.
struct SentAct {
  let number: Int
  let act: ChainAct
  let device: TestDevice
  let request: TestDevice.Signed

  var key: Key { device.key.publicKey.bytes }
}
