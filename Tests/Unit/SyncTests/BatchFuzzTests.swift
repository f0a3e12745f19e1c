import Accounts
import Base
import Crypto
import JSON
import SeededRandom
import Sync
import TestDevices
import TestEngines
import Testing

/// Altered batches: none makes the server fail, and none changes anything unless it is accepted.
@Suite struct BatchFuzzTests {
  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let bob: TestDevice
    let folder: Identifier
    let offered: Identifier

    init(_ engine: TestEngine) throws {
      var limits = SyncLimits()
      limits.openInvitationCountMax = 1000
      limits.invitationsPerDay = 1000
      limits.receivedInvitationCountMax = 1000
      server = try TestServer(engine, limits: limits)
      alice = try server.register()
      bob = try server.register()
      folder = try alice.add("folder")
      _ = try alice.add(in: folder)
      offered = try bob.add()
      try bob.grant(offered, to: alice.account).requireSuccess()
    }

    /// A batch that would be accepted now.
    func body() throws -> JSONValue {
      let creation = try alice.creation("folder", parent: folder)
      return alice.batchBody(
        files: [
          creation, try alice.record(folder).change { $0.name = .init() },
          try alice.creation(parent: creation.file.id),
        ],
        shares: [.grant(creation.file.id, to: try bob.account)])
    }
  }

  private static let tokens = [
    "null", "true", "false", "0", "-1", "1e999", "NaN", "{}", "[]", "\"\"", "\"new\"", "\"link\"",
    "\"folder\"", "\"document\"", "\"deleted\":true", "\"revoked\"", "\"rejected\"", "{", "}", "[",
    "]", ",", ":", "\"", "\\u0000", "\\ud800", "\u{1F4A5}", "\"target\":null,",
  ]

  @Test(arguments: TestEngine.available)
  func `bent text is refused, and changes nothing`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "bent batches")
    var random = SeededGenerator(seed: seed)
    let scene = try Scene(engine)
    var before = try scene.server.state()
    var seen: [Int: Int] = [:]
    for round in 0..<250 {
      var body = try scene.body()
      var bytes = body.encoded()
      if round.isMultiple(of: 3) {
        for _ in 0...Int.random(in: 0...2, using: &random) { bend(&bytes, &random) }
      } else {
        for _ in 0...Int.random(in: 0...1, using: &random) { bend(&body, &random) }
        bytes = body.encoded()
      }
      let answer = try scene.alice.send(scene.alice.sign("POST", "/v1/files", body: bytes))
      seen[answer.status, default: 0] += 1
      let after = try scene.server.state()
      if answer.status != 200 {
        #expect(after == before)
        #expect(try answer.problem != nil)
      }
      before = after
    }
    print("answers by status: \(seen.sorted { $0.key < $1.key })")
    #expect(Set(seen.keys).isSubset(of: [200, 400, 409, 422, 429]))
  }

  @Test(arguments: TestEngine.available)
  func `statements whose members changed places are refused, and change nothing`(
    engine: TestEngine
  ) throws {
    let seed = SeededGenerator.seed(of: "bent statements")
    var random = SeededGenerator(seed: seed)
    let scene = try Scene(engine)
    var before = try scene.server.state()
    var seen: [Int: Int] = [:]
    for _ in 0..<200 {
      // Signed after the alteration, so that it reaches the rules and not only the signature check.
      var changes = [
        try scene.alice.creation("folder", parent: scene.folder),
        try scene.alice.record(scene.folder).change { $0.name = .init() },
        try scene.alice.creation(),
      ]
      if try scene.alice.share(of: scene.offered)?.state == "pending" {
        changes.append(try scene.alice.creation("link", target: scene.offered))
      }
      for _ in 0...Int.random(in: 0...2, using: &random) { bend(&changes, scene, &random) }
      let answer = try scene.alice.batch(files: changes.shuffled(using: &random))
      seen[answer.status, default: 0] += 1
      let after = try scene.server.state()
      if answer.status != 200 { #expect(after == before) }
      before = after
    }
    print("answers by status: \(seen.sorted { $0.key < $1.key })")
    #expect(Set(seen.keys).isSubset(of: [200, 400, 409, 422]))
    #expect(try scene.alice.pulled().troubles.isEmpty)
  }

  /// Replaces a value with another, removes one, or alters the bytes that it holds.
  private func bend(_ body: inout JSONValue, _ random: inout SeededGenerator) {
    let leaves = body.leaves
    let (path, value) = leaves.randomElement(using: &random)!
    switch Int.random(in: 0..<5, using: &random) {
    case 0: body = body.setting(path, to: nil)
    case 1, 2: body = body.setting(path, to: leaves.randomElement(using: &random)!.value)
    default:
      guard case .string(let text) = value, var bytes = Base64.standard.decode(text),
        !bytes.isEmpty
      else { return }
      bytes[Int.random(in: bytes.indices, using: &random)] ^= 1
      body = body.setting(path, to: .string(Base64.standard.encode(bytes)))
    }
  }

  private func bend(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
    guard bytes.count > 2 else { return }
    let start = Int.random(in: 0..<bytes.count, using: &random)
    let end = min(bytes.count, start + Int.random(in: 1...30, using: &random))
    switch Int.random(in: 0..<7, using: &random) {
    case 0: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes.removeSubrange(start..<end)
    case 2: bytes.insert(contentsOf: bytes[start..<end], at: start)
    case 3: bytes.insert(contentsOf: random.bytes(count: end - start), at: start)
    case 4: bytes.removeLast(bytes.count - start)
    case 5:
      bytes.insert(contentsOf: Array(Self.tokens.randomElement(using: &random)!.utf8), at: start)
    default: replaceValue(&bytes, from: start, &random)
    }
  }

  /// Replaces a value with a token: from the next colon to the next comma.
  private func replaceValue(
    _ bytes: inout [UInt8], from start: Int, _ random: inout SeededGenerator
  ) {
    guard let colon = bytes[start...].firstIndex(of: UInt8(ascii: ":")),
      let comma = bytes[colon...].firstIndex(of: UInt8(ascii: ","))
    else { return }
    bytes.replaceSubrange(
      (colon + 1)..<comma, with: Array(Self.tokens.randomElement(using: &random)!.utf8))
  }

  private func bend(
    _ changes: inout [FileChange], _ scene: Scene, _ random: inout SeededGenerator
  ) {
    let ids =
      changes.map(\.file.id) + [
        scene.alice.root, scene.bob.root, scene.folder, scene.offered, Random.identifier(),
      ]
    func id() -> Identifier { ids.randomElement(using: &random)! }
    let index = Int.random(in: changes.indices, using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0: changes[index].file.id = id()
    case 1: changes[index].file.owner = id()
    case 2, 3: changes[index].file.parent = id()
    case 4: changes[index].file.target = id()
    case 5:
      changes[index].file.type = ["folder", "document", "link"].randomElement(using: &random)!
    case 6: changes[index].file.deleted.toggle()
    case 7: changes[index].file.name.hmac = changes.randomElement(using: &random)!.file.name.hmac
    case 8: changes[index].expect = changes.randomElement(using: &random)!.expect
    default: changes.append(changes[index])
    }
  }
}
