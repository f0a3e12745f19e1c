import Base
import Crypto
import SeededRandom
import Testing

struct RSATests {
  /// RFC 7515, appendix A.2.
  private static let modulus =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4Q"
    + "lL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdb"
    + "BYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-"
    + "DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
  private static let message =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvb"
    + "S9pc19yb290Ijp0cnVlfQ"
  private static let signature =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5juj"
    + "Gbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07"
    + "Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUip"
    + "UTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

  private static let key = RSAPrivateKey()

  private func bytes(_ text: String) throws -> [UInt8] {
    try #require(Base64.url.decode(text))
  }

  @Test func `the RFC's signature is valid, and for no other message`() throws {
    let key = try #require(RSAPublicKey(modulus: bytes(Self.modulus), exponent: [1, 0, 1]))
    let signature = try bytes(Self.signature)
    #expect(key.isValid(signature: signature, for: Array(Self.message.utf8)))
    #expect(!key.isValid(signature: signature, for: Array((Self.message + "A").utf8)))
  }

  @Test func `one altered bit spoils a signature`() {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "RSATests.bit"))
    let message = random.bytes(count: 300)
    let valid = Self.key.signature(for: message)
    for _ in 0..<100 {
      var signature = valid
      let bit = Int.random(in: 0..<2048, using: &random)
      signature[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!Self.key.publicKey.isValid(signature: signature, for: message))
    }
  }

  @Test func `a signature of another length is none`() {
    let message = Array("message".utf8)
    let valid = Self.key.signature(for: message)
    for signature in [[], Array(valid.dropLast()), [0] + valid, valid + [0]] {
      #expect(!Self.key.publicKey.isValid(signature: signature, for: message))
    }
  }

  @Test func `zeros and ones are no signature`() {
    for byte: UInt8 in [0, 1, 0xFF] {
      let signature = [UInt8](repeating: byte, count: 256)
      #expect(!Self.key.publicKey.isValid(signature: signature, for: []))
    }
  }

  @Test func `a public key that is too small, too large, even or senseless is refused`() {
    let modulus = Self.key.publicKey.modulus
    let even = Array(modulus.dropLast()) + [2]
    #expect(RSAPublicKey(modulus: Array(modulus.suffix(128)), exponent: [1, 0, 1]) == nil)
    #expect(
      RSAPublicKey(modulus: modulus + modulus + modulus + modulus + modulus, exponent: [1, 0, 1])
        == nil)
    #expect(RSAPublicKey(modulus: even, exponent: [1, 0, 1]) == nil)
    #expect(RSAPublicKey(modulus: [], exponent: [1, 0, 1]) == nil)
    let senseless: [[UInt8]] = [
      [], [0], [1], [2], [3], [0xFF, 0xFF], [1, 0, 0], [1, 0, 0, 0, 1],
    ]
    for exponent in senseless {
      #expect(RSAPublicKey(modulus: modulus, exponent: exponent) == nil, "\(exponent)")
    }
  }

  @Test func `leading zeros of a modulus mean nothing`() throws {
    let plain = Self.key.publicKey
    let key = try #require(
      RSAPublicKey(modulus: [0, 0] + plain.modulus, exponent: [0] + plain.exponent))
    #expect(key.modulus == plain.modulus)
    #expect(key.isValid(signature: Self.key.signature(for: [7]), for: [7]))
  }

  @Test func `a private key survives the way through PEM and signs alike`() throws {
    let copy = try #require(RSAPrivateKey(pem: Self.key.pem))
    #expect(copy.signature(for: [1, 2, 3]) == Self.key.signature(for: [1, 2, 3]))
  }

  @Test func `a key of another kind is no RSA key`() {
    #expect(RSAPrivateKey(pem: P256PrivateKey().pem) == nil)
    #expect(RSAPrivateKey(pem: Secret("-----BEGIN PRIVATE KEY-----")) == nil)
  }
}
