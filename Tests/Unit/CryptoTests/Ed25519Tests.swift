import Base
import Crypto
import SeededRandom
import Testing

@Suite struct Ed25519Tests {
  struct Vector: Sendable {
    let seed: String
    let publicKey: String
    let message: String
    let signature: String
  }

  /// RFC 8032, section 7.1, tests 1 to 3.
  static let vectors = [
    Vector(
      seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      message: "",
      signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    Vector(
      seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      message: "72",
      signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
    Vector(
      seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      message: "af82",
      signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
  ]

  @Test(arguments: vectors)
  func `signing gives RFC 8032's keys and signatures`(vector: Vector) throws {
    let key = try #require(Ed25519PrivateKey(seed: Secret(Hex.decode(vector.seed)!)))
    #expect(Hex.encode(key.publicKey.bytes) == vector.publicKey)
    #expect(Hex.encode(key.signature(for: Hex.decode(vector.message)!)) == vector.signature)
  }

  @Test(arguments: vectors)
  func `RFC 8032's signatures are valid`(vector: Vector) throws {
    let key = try #require(Ed25519PublicKey(bytes: Hex.decode(vector.publicKey)!))
    #expect(
      key.isValid(
        signature: Hex.decode(vector.signature)!, for: Hex.decode(vector.message)!))
  }

  @Test(arguments: [1, 2, 3, 4])
  func `any altered bit makes a signature invalid`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let key = Ed25519PrivateKey(seed: Secret(random.bytes(count: 32)))!
    let message = random.bytes(count: 100)
    let signature = key.signature(for: message)
    #expect(key.publicKey.isValid(signature: signature, for: message), "seed \(seed)")
    for bit in 0..<(64 * 8) {
      var altered = signature
      altered[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(
        !key.publicKey.isValid(signature: altered, for: message), "seed \(seed), bit \(bit)")
    }
    var other = message
    other[.random(in: 0..<100, using: &random)] ^= 4
    #expect(!key.publicKey.isValid(signature: signature, for: other), "seed \(seed)")
  }

  @Test func `another key's signature is invalid`() {
    let signature = Ed25519PrivateKey().signature(for: [1])
    #expect(!Ed25519PrivateKey().publicKey.isValid(signature: signature, for: [1]))
  }

  /// RFC 8032, section 5.1.7 demands S < L; without it a second signature could be made from one.
  @Test func `a signature with the group order added to S is invalid`() throws {
    let order = try #require(
      Hex.decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
    let key = Ed25519PrivateKey()
    var signature = key.signature(for: [1, 2, 3])
    var carry: UInt16 = 0
    for index in 0..<32 {
      carry += UInt16(signature[32 + index]) + UInt16(order[index])
      signature[32 + index] = UInt8(truncatingIfNeeded: carry)
      carry >>= 8
    }
    #expect(!key.publicKey.isValid(signature: signature, for: [1, 2, 3]))
  }

  @Test(arguments: [0, 63, 65])
  func `a signature of another length is invalid`(count: Int) {
    let key = Ed25519PrivateKey().publicKey
    #expect(!key.isValid(signature: [UInt8](repeating: 1, count: count), for: []))
  }

  @Test(arguments: [0, 31, 33])
  func `a key of another length is none`(count: Int) {
    #expect(Ed25519PublicKey(bytes: [UInt8](repeating: 1, count: count)) == nil)
    #expect(Ed25519PrivateKey(seed: Secret([UInt8](repeating: 1, count: count))) == nil)
  }

  @Test func `under bytes that are no point nothing is valid`() throws {
    // y = 2 has no x on the curve.
    let key = try #require(Ed25519PublicKey(bytes: [2] + [UInt8](repeating: 0, count: 31)))
    #expect(!key.isValid(signature: Ed25519PrivateKey().signature(for: []), for: []))
  }

  /// The points whose order divides 8, each in every encoding that some library accepts. This is the table of
  /// "Taming the many EdDSAs" (Chalkias, Garillot, Nikolaenko 2020), which ZIP 215's tests also have.
  static let smallOrder = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]

  @Test(arguments: smallOrder)
  func `a point of small order is no key, however it is written`(key: String) throws {
    #expect(Ed25519PublicKey(bytes: try #require(Hex.decode(key))) == nil)
  }

  /// RFC 8032, section 5.1.3: a number of p or more is not an encoding. There are 19 between p and 2^255.
  @Test(arguments: 0..<19, [UInt8(0x7f), 0xff])
  func `a key of another spelling than the shortest is none`(beyond: Int, last: UInt8) {
    let middle = [UInt8](repeating: 0xff, count: 30)
    let bytes = [UInt8(0xed + beyond)] + middle + [last]
    #expect(Ed25519PublicKey(bytes: bytes) == nil)
  }

  @Test func `the largest spelling that is canonical may be a key`() {
    // p - 2, next to p - 1, which is the point of order 2.
    let bytes = [0xeb] + [UInt8](repeating: 0xff, count: 30) + [0x7f]
    #expect(Ed25519PublicKey(bytes: bytes) != nil)
  }

  @Test func `two new keys differ`() {
    #expect(Ed25519PrivateKey().publicKey != Ed25519PrivateKey().publicKey)
  }
}
