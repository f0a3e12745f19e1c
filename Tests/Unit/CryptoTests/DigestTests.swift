import Base
import Crypto
import SeededRandom
import Testing

@Suite struct DigestTests {
  /// NIST's examples for FIPS 180 (https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values).
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func `SHA-256 gives NIST's digests`(message: String, digest: String) {
    #expect(Hex.encode(SHA256.hash(Array(message.utf8))) == digest)
  }

  @Test(arguments: [
    (
      "",
      "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
        + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
    ),
    (
      "abc",
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
  ])
  func `SHA-512 gives NIST's digests`(message: String, digest: String) {
    #expect(Hex.encode(SHA512.hash(Array(message.utf8))) == digest)
  }

  /// The examples of RFC 1321, appendix A.5.
  @Test(arguments: [
    ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
  ])
  func `MD5 gives the digests of its specification`(message: String, digest: String) {
    let stream = MD5Stream()
    let bytes = Array(message.utf8)
    unsafe stream.update(bytes.span.bytes)
    #expect(Hex.encode(stream.finalize()) == digest)
  }

  @Test func `a million times the letter a gives NIST's digest`() {
    let stream = SHA256Stream()
    let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 1000)
    for _ in 0..<1000 { unsafe stream.update(piece.span.bytes) }
    #expect(
      Hex.encode(stream.finalize())
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test(arguments: [1, 2, 3])
  func `a stream in pieces equals the whole`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let message = random.bytes(count: 5000)
    let small = SHA256Stream()
    let large = SHA512Stream()
    var rest = message[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(.random(in: 0...700, using: &random)))
      unsafe small.update(piece.span.bytes)
      unsafe large.update(piece.span.bytes)
      rest = rest.dropFirst(piece.count)
    }
    #expect(small.finalize() == SHA256.hash(message), "seed \(seed)")
    #expect(large.finalize() == SHA512.hash(message), "seed \(seed)")
  }

  @Test func `a stream without input is the digest of nothing`() {
    #expect(SHA256Stream().finalize() == SHA256.hash([]))
  }

  /// RFC 4231, section 4; case 5 truncates its code, which nothing here does.
  @Test(arguments: [
    (
      String(repeating: "0b", count: 20), Hex.encode("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Hex.encode("Jefe".utf8), Hex.encode("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    ),
    (
      "0102030405060708090a0b0c0d0e0f10111213141516171819", String(repeating: "cd", count: 50),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    ),
    (
      String(repeating: "aa", count: 131),
      Hex.encode("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    (
      String(repeating: "aa", count: 131),
      Hex.encode(
        ("This is a test using a larger than block-size key and a larger than block-size data. "
          + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
    ),
  ])
  func `HMAC gives RFC 4231's codes`(key: String, message: String, code: String) throws {
    let key = Secret(try #require(Hex.decode(key)))
    let message = try #require(Hex.decode(message))
    #expect(Hex.encode(HMACSHA256.code(key: key, message)) == code)
  }

  @Test func `HMAC of parts is HMAC of the whole`() {
    let key = Secret("key")
    #expect(
      HMACSHA256.code(key: key, [1, 2], [], [3]) == HMACSHA256.code(key: key, [1, 2, 3]))
  }

  @Test func `HMAC with an empty key is what RFC 2104 says`() {
    #expect(
      Hex.encode(HMACSHA256.code(key: Secret([]), []))
        == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
  }

  @Test func `one key's code leaves no trace in the next`() {
    let first = HMACSHA256.code(key: Secret("a"), [1])
    _ = HMACSHA256.code(key: Secret("b"), [1])
    #expect(HMACSHA256.code(key: Secret("a"), [1]) == first)
  }

  @Test func `equal byte strings are equal in constant time`() {
    #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
    #expect(constantTimeEqual([], []))
  }

  @Test func `one altered bit or another length is not equal`() {
    #expect(!constantTimeEqual([1, 2, 3], [1, 2, 2]))
    #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
    #expect(!constantTimeEqual([], [0]))
  }
}
