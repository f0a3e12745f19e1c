import Base
import Crypto
import HTTPSignatures
import TestDevices
import TestFiles
import Testing

/// The real bytes of docs/sync-api.md, with which a client's author compares his own.
@Suite struct GuideTests {
  private static let key = Ed25519PrivateKey(seed: Secret(Array(0..<32)))!
  private static let body = Array(#"{"root":"5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d"}"#.utf8)

  private func guide() throws -> String {
    try #require(Files.text("\(Files.repository)/docs/sync-api.md"))
  }

  @Test func `the guide signs a request as we do`() throws {
    let guide = try guide()
    let fields = RequestSigner(key: Self.key, authority: "sync.example.com").headers(
      method: "POST", target: "/v1/accounts", body: Self.body,
      created: Instant(seconds: 1_782_000_000), nonce: Array("for the guide".utf8))
    #expect(fields.count == 3)
    for (name, value) in fields { #expect(guide.contains("\n\(name): \(value)\n")) }
  }

  @Test func `the guide's signature is over the guide's lines`() throws {
    let guide = try guide()
    let start = try #require(guide.firstRange(of: "\n\"@method\"")).lowerBound
    let rest = guide[guide.index(after: start)...]
    let lines = rest[..<(try #require(rest.firstRange(of: "\n```"))).lowerBound]
    let mark = "\nSignature: coffer=:"
    let text = guide[(try #require(guide.firstRange(of: mark))).upperBound...].prefix { $0 != ":" }
    let signature = try #require(Base64.standard.decode(String(text)))
    #expect(Self.key.signature(for: Array(lines.utf8)) == signature)
  }

  @Test func `the guide's account has the id that its key makes`() throws {
    let bytes = Self.key.publicKey.bytes
    let guide = try guide()
    #expect(guide.contains("`\(Base64.standard.encode(bytes))`"))
    #expect(guide.contains("`\(KeyChain.account(openedBy: bytes))`"))
  }
}
