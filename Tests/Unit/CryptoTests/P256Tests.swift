import Base
import Crypto
import SeededRandom
import Testing

struct P256Tests {
  /// RFC 6979, appendix A.2.5: the message "sample" with SHA-256.
  private static let point =
    "04" + "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
    + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
  private static let r = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
  private static let s = "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
  private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
  private static let zero = String(repeating: "0", count: 64)

  private func accepts(_ signature: String, _ message: String = "sample") throws -> Bool {
    let point = try #require(Hex.decode(Self.point))
    let key = try #require(P256PublicKey(x963: point))
    let bytes = try #require(Hex.decode(signature))
    return key.isValid(signature: bytes, for: Array(message.utf8))
  }

  @Test func `the RFC's signature is valid`() throws {
    #expect(try accepts(Self.r + Self.s))
  }

  @Test func `the RFC's signature says nothing about another message`() throws {
    #expect(try !accepts(Self.r + Self.s, "Sample"))
  }

  @Test(
    arguments: [
      zero + zero, r + zero, zero + s, order + s, r + order, s + r,
      String(repeating: "f", count: 128), "", r, r + s + "00", "3046" + "022100" + r + "022100" + s,
    ])
  func `no other numbers and no other form are a signature`(signature: String) throws {
    #expect(try !accepts(signature))
  }

  @Test func `numbers of every length survive the way through raw bytes`() {
    let key = P256PrivateKey()
    // One in 128 of the numbers is shorter than 32 bytes.
    for index in 0..<600 {
      let message = Array("message \(index)".utf8)
      let signature = key.signature(for: message)
      #expect(signature.count == 64)
      #expect(key.publicKey.isValid(signature: signature, for: message), "\(signature)")
    }
  }

  @Test func `one altered bit spoils a signature`() {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "P256Tests.bit"))
    let key = P256PrivateKey()
    for _ in 0..<200 {
      let message = random.bytes(count: 40)
      var signature = key.signature(for: message)
      let bit = Int.random(in: 0..<512, using: &random)
      signature[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!key.publicKey.isValid(signature: signature, for: message))
    }
  }

  @Test func `a key comes back from its PEM text`() throws {
    let key = P256PrivateKey()
    let pem = key.pem
    #expect(pem.exposed.starts(with: "-----BEGIN PRIVATE KEY-----\n".utf8))
    let again = try #require(P256PrivateKey(pem: pem))
    #expect(again.publicKey.x963 == key.publicKey.x963)
    let message = Array("signed".utf8)
    #expect(key.publicKey.isValid(signature: again.signature(for: message), for: message))
  }

  @Test(
    arguments: [
      "", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
      // Ed25519, RFC 8410, section 10.3.
      """
      -----BEGIN PRIVATE KEY-----
      MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
      -----END PRIVATE KEY-----

      """,
    ])
  func `another text is no key`(pem: String) {
    #expect(P256PrivateKey(pem: Secret(pem)) == nil)
  }

  @Test func `a point must be on the curve and uncompressed`() throws {
    let good = try #require(Hex.decode(Self.point))
    var moved = good
    moved[64] ^= 1
    #expect(P256PublicKey(x963: moved) == nil)
    #expect(P256PublicKey(x963: [2] + good[1..<33]) == nil)
    #expect(P256PublicKey(x963: [6] + good[1...]) == nil)
    #expect(P256PublicKey(x963: [0]) == nil)
    #expect(P256PublicKey(x963: good)?.x963 == good)
  }
}
