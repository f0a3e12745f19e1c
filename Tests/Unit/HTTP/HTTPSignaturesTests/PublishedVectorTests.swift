import Base
import Crypto
import HTTPMessages
import HTTPSignatures
import Testing

/// RFC 9421, appendix B.2.6, with the key test-key-ed25519 of appendix B.1.4.
@Suite struct PublishedVectorTests {
  private static let base = #"""
    "date": Tue, 20 Apr 2021 02:07:55 GMT
    "@method": POST
    "@path": /foo
    "@authority": example.com
    "content-type": application/json
    "content-length": 18
    "@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length")\#
    ;created=1618884473;keyid="test-key-ed25519"
    """#
  private static let input =
    #"sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length")"#
    + #";created=1618884473;keyid="test-key-ed25519""#
  private static let signature =
    "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1"
    + "u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"
  private static let publicKey = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
  private static let privateKey = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"
  private static let body = #"{"hello": "world"}"#
  private static let digest =
    "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+T"
    + "aPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"

  private let request = RequestHead(
    method: "POST", target: "/foo?param=Value&Pet=dog",
    headers: Headers([
      ("Host", "example.com"), ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"),
      ("Content-Type", "application/json"), ("Content-Digest", digest), ("Content-Length", "18"),
    ]), authority: "example.com", scheme: "https")

  private func makeBase() throws -> SignatureBase {
    let entry = try StructuredFieldParser.dictionary(Array(Self.input.utf8))[0]
    guard case .innerList(let list) = entry.member else { throw SignatureRefusal.missing }
    return try SignatureBase(covering: list, of: request)
  }

  @Test func `the signature base is that of the RFC`() throws {
    #expect(String(decoding: try makeBase().bytes, as: UTF8.self) == Self.base)
  }

  @Test func `the RFC's signature is valid`() throws {
    let key = try #require(Ed25519PublicKey(bytes: Base64.url.decode(Self.publicKey)!))
    let entry = try StructuredFieldParser.dictionary(Array(Self.signature.utf8))[0]
    guard case .item(let item) = entry.member, let signature = item.value.bytes else {
      Issue.record("no byte sequence")
      return
    }
    #expect(key.isValid(signature: signature, for: try makeBase().bytes))
  }

  @Test func `the RFC's private key gives the RFC's signature`() throws {
    let seed = Secret(try #require(Base64.url.decode(Self.privateKey)))
    let key = try #require(Ed25519PrivateKey(seed: seed))
    #expect(Base64.url.encode(key.publicKey.bytes) == Self.publicKey)
    let signature = key.signature(for: try makeBase().bytes)
    #expect("sig-b26=:\(Base64.standard.encode(signature)):" == Self.signature)
  }

  @Test func `the RFC's digest is that of its body`() throws {
    let digest = try ContentDigest.parse(Array(Self.digest.utf8))
    #expect(digest.matches(Array(Self.body.utf8)))
  }

  @Test func `a name instead of a public key is a bad key`() throws {
    var headers = request.headers
    headers.append("Signature-Input", Array((Self.input + #";alg="ed25519""#).utf8))
    headers.append("Signature", Array(Self.signature.utf8))
    let head = RequestHead(
      method: "POST", target: request.target, headers: headers, authority: "example.com")
    #expect(throws: SignatureRefusal.badKey) {
      try verify(
        head, policy: SignaturePolicy(authorities: ["example.com"]),
        now: Instant(seconds: 1_618_884_480))
    }
  }
}
