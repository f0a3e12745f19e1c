import Base
import Crypto
import JSON
import TestDevices
import TestEngines
import Testing

/// Lies to a client that follows keys to their account's first one: those that it can believe, and those that
/// it detects.
@Suite struct LyingServerTests {
  /// Alice's devices, each of which admitted the next one; the last one revoked the first two.
  private final class Scene {
    let server: TestServer
    let devices: [TestDevice]
    let mallory: TestDevice
    let account: Identifier

    init(_ engine: TestEngine = .sqlite) throws {
      server = try TestServer(engine)
      var devices = [try server.register()]
      account = try devices[0].account
      for _ in 0..<3 {
        let next = server.device(root: devices[0].root)
        #expect(try devices[devices.count - 1].admit(next).status == 201)
        devices.append(next)
      }
      for lost in devices[..<2] {
        #expect(try devices[3].revoke(key: lost.key.publicKey.bytes).status == 204)
      }
      self.devices = devices
      mallory = try server.register()
    }

    var keys: [[UInt8]] { devices.map(\.key.publicKey.bytes) }

    /// A client that asks the server and receives each answer as `lie` alters it.
    func chain(_ lie: @escaping (String) -> String = { $0 }) -> KeyChain {
      KeyChain { [mallory] key in
        let answer = try mallory.get("/v1/directory?key=\(key)")
        return try JSON.parse(Array(lie(String(decoding: answer.body, as: UTF8.self)).utf8))
      }
    }
  }

  @Test(arguments: TestEngine.available)
  func `every key of an account leads to its first one, through revoked ones too`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    for key in scene.keys {
      #expect(try scene.chain().proves(key, of: scene.account))
      #expect(try !scene.chain().proves(key, of: scene.mallory.account))
    }
    #expect(try !scene.chain().proves(scene.mallory.key.publicKey.bytes, of: scene.account))
  }

  @Test func `a key under another account's name proves nothing`() throws {
    let scene = try Scene()
    let (alice, mallory) = (scene.account.description, try scene.mallory.account.description)
    let lie = scene.chain { $0.replacing(alice, with: mallory) }
    for key in scene.keys[1...] {
      #expect(try !lie.proves(key, of: scene.mallory.account))
    }
  }

  @Test func `a key in the place of another proves nothing`() throws {
    let scene = try Scene()
    let stranger = scene.mallory.key.publicKey.bytes
    let lie = scene.chain {
      $0.replacing(
        "\"public_key\":\"\(Base64.standard.encode(scene.keys[3]))\"",
        with: "\"public_key\":\"\(Base64.standard.encode(stranger))\"")
    }
    #expect(try !lie.proves(stranger, of: scene.account))
  }

  @Test(arguments: ["device", "proof", "signature", "author", "created"])
  func `a statement that lacks something proves nothing`(member: String) throws {
    let scene = try Scene()
    let lie = scene.chain { $0.replacing("\"\(member)\":", with: "\"absent\":") }
    for key in scene.keys[1...] { #expect(try !lie.proves(key, of: scene.account)) }
  }

  @Test func `a server's own key that lets itself in, or is let in by another such, is nobody's`()
    throws
  {
    let scene = try Scene()
    let own = [Ed25519PrivateKey(), Ed25519PrivateKey()]
    func entry(_ key: Ed25519PrivateKey, author: Ed25519PrivateKey) -> JSONValue {
      let statement = KeyStatement(
        .device, account: scene.account, key: key.publicKey.bytes, created: 1_780_000_000)
      return [
        "public_key": .string(Base64.standard.encode(key.publicKey.bytes)),
        "device": [
          "created": .integer(statement.created), "proof": statement.signature(by: key),
          "author": .string(Base64.standard.encode(author.publicKey.bytes)),
          "signature": statement.signature(by: author),
        ],
      ]
    }
    for authors in [own, own.reversed()] {
      let answer = JSONValue.object([
        .init("keys", .array(zip(own, authors).map { entry($0, author: $1) }))
      ]).encoded()
      let lie = KeyChain { _ in try JSON.parse(answer) }
      for key in own { #expect(try !lie.proves(key.publicKey.bytes, of: scene.account)) }
    }
  }
}
