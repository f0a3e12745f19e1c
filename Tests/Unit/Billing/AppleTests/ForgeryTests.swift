import Apple
import Base
import Crypto
import JSON
import JWS
import SeededRandom
import TestCertificates
import Testing

/// Only bodies that the App Store alone could have sent are accepted; each forgery has its own refusal.
struct ForgeryTests {
  private static let payload = Sample.payload(data: Sample.data())

  /// A body with this header, by default signed by the genuine leaf's key.
  private func body(
    header: JSONValue, payload: JSONValue = payload,
    sign: ([UInt8]) -> [UInt8] = Sample.chain.leaf.key.signature
  ) -> [UInt8] {
    Sample.body(signed: CompactJWS.compact(header: header, payload: payload, sign: sign))
  }

  private func header(algorithm: String = "ES256", x5c: [String] = Sample.chain.x5c) -> JSONValue {
    ["alg": .string(algorithm), "x5c": .array(x5c.map { .string($0) })]
  }

  /// The refusal of a spoiled chain by a verifier that trusts the chain's root.
  private func refusalOfChain(
    _ spoil: (inout AppleTestChain.Plans) -> Void
  ) -> AppleRefusal? {
    let chain = Sample.newChain(spoil)
    return refusal(Sample.body(chain: chain), by: Sample.verifier(chain))
  }

  @Test func `the genuine one is believed`() {
    #expect(refusal(Sample.body()) == nil)
  }

  @Test func `a chain that brings its own root is refused`() {
    #expect(refusal(Sample.body(chain: Sample.newChain())) == .wrongRoot)
  }

  @Test func `a chain beside the genuine root is refused`() {
    let other = Sample.newChain()
    let x5c = other.x5c.dropLast() + Sample.chain.x5c.suffix(1)
    let body = body(header: header(x5c: Array(x5c)), sign: other.leaf.key.signature)
    #expect(refusal(body) == .brokenChain)
  }

  @Test func `a leaf under another intermediate is refused`() {
    let other = Sample.newChain()
    let x5c = [other.x5c[0], Sample.chain.x5c[1], Sample.chain.x5c[2]]
    #expect(refusal(body(header: header(x5c: x5c), sign: other.leaf.key.signature)) == .brokenChain)
  }

  @Test func `a leaf without the store's marker is refused`() {
    #expect(refusalOfChain { $0.leaf.markers = [] } == .missingMarker(.leaf))
  }

  @Test func `a leaf with the intermediate's marker is refused`() {
    #expect(
      refusalOfChain { $0.leaf.markers = [AppleTestChain.intermediateMarker] }
        == .missingMarker(.leaf))
  }

  @Test func `an intermediate without its marker is refused`() {
    #expect(refusalOfChain { $0.intermediate.markers = [] } == .missingMarker(.intermediate))
  }

  @Test func `a leaf that could issue certificates is refused`() {
    #expect(refusalOfChain { $0.leaf.isAuthority = true } == .leafIsAuthority)
  }

  @Test func `a genuine leaf used as intermediate is refused`() {
    let plan = TestCertificatePlan(
      commonName: "Forged", notBefore: Sample.now - .days(1), notAfter: Sample.now + .days(1),
      isAuthority: false, markers: [AppleTestChain.leafMarker])
    let forged = TestCertificate(plan, issuer: Sample.chain.leaf)
    let x5c = [forged, Sample.chain.leaf, Sample.chain.root].map { Base64.standard.encode($0.der) }
    let body = body(header: header(x5c: x5c), sign: forged.key.signature)
    #expect(refusal(body) == .intermediateIsNotAuthority)
  }

  @Test func `an expired leaf is refused`() {
    #expect(refusalOfChain { $0.leaf.notAfter = Sample.now - .days(1) } == .expired)
  }

  @Test func `an expired intermediate is refused`() {
    #expect(refusalOfChain { $0.intermediate.notAfter = Sample.now - .days(1) } == .expired)
  }

  @Test func `an expired root is refused`() {
    #expect(refusalOfChain { $0.root.notAfter = Sample.now - .days(1) } == .expired)
  }

  @Test func `a leaf that is not yet valid is refused`() {
    #expect(refusalOfChain { $0.leaf.notBefore = Sample.now + .days(1) } == .notYetValid)
  }

  @Test func `an unknown critical extension is refused`() {
    #expect(refusalOfChain { $0.leaf.criticalExtension = "1.2.3.4" } == .unsuitableCertificate)
  }

  @Test(arguments: [TestCertificatePlan.KeyKind.p384, .ed25519])
  func `a leaf with another kind of key is refused`(kind: TestCertificatePlan.KeyKind) {
    #expect(refusalOfChain { $0.leaf.keyKind = kind } == .wrongKey)
  }

  @Test func `more or fewer than three certificates are refused`() {
    let x5c = Sample.chain.x5c
    for wrong in [[], Array(x5c.prefix(1)), Array(x5c.prefix(2)), x5c + x5c.suffix(1)] {
      #expect(refusal(body(header: header(x5c: wrong))) == .certificateCount)
    }
    #expect(refusal(body(header: ["alg": "ES256"])) == .certificateCount)
    #expect(refusal(body(header: ["alg": "ES256", "x5c": "one"])) == .certificateCount)
  }

  @Test func `certificates that are none are refused`() {
    let x5c = Sample.chain.x5c
    let url = x5c[0].replacing("+", with: "-").replacing("/", with: "_")
    for wrong in ["", "AAAA", x5c[0] + "\n", x5c[0] + "AAAA", url.replacing("=", with: "") + "-"] {
      #expect(refusal(body(header: header(x5c: [wrong, x5c[1], x5c[2]]))) == .certificateEncoding)
    }
    let numbers: JSONValue = ["alg": "ES256", "x5c": [1, 2, 3]]
    #expect(refusal(body(header: numbers)) == .certificateEncoding)
  }

  @Test(
    arguments: [
      ("none", .none), ("HS256", .hs256), ("RS256", .rs256), ("es256", .other), ("ES384", .other),
      ("", .other),
    ] as [(String, AppleRefusal.Algorithm)])
  func `another algorithm is refused`(name: String, algorithm: AppleRefusal.Algorithm) {
    #expect(refusal(body(header: header(algorithm: name))) == .algorithm(algorithm))
  }

  @Test func `a code under the public key is no signature`() {
    let key = Secret(Sample.chain.leaf.der)
    let body = body(header: header(algorithm: "HS256")) { HMACSHA256.code(key: key, $0) }
    #expect(refusal(body) == .algorithm(.hs256))
  }

  @Test func `a header with crit is refused`() {
    let header: JSONValue = [
      "alg": "ES256", "crit": ["exp"], "x5c": .array(Sample.chain.x5c.map { .string($0) }),
    ]
    #expect(refusal(body(header: header)) == .critHeader)
  }

  @Test func `a DER signature is refused`() {
    let body = body(header: header()) { message in
      let raw = Sample.chain.leaf.key.signature(for: message)
      return [0x30, 0x46, 0x02, 0x21, 0x00] + raw[..<32] + [0x02, 0x21, 0x00] + raw[32...]
    }
    #expect(refusal(body) == .signatureEncoding)
  }

  @Test func `an all-zero signature is refused`() {
    let zeros = [UInt8](repeating: 0, count: 64)
    #expect(refusal(body(header: header()) { _ in zeros }) == .badSignature)
  }

  @Test func `a signature by another key is refused`() {
    #expect(refusal(body(header: header(), sign: P256PrivateKey().signature)) == .badSignature)
  }

  @Test func `another app's bundle is refused`() {
    #expect(refusal(Sample.body(data: ["bundleId": "com.example.other"])) == .wrongBundle)
    #expect(refusal(Sample.body(data: ["bundleId": nil])) == .wrongBundle)
    #expect(refusal(Sample.body(["data": nil])) == .wrongBundle)
  }

  @Test func `another app's number is refused in production`() {
    #expect(refusal(Sample.body(data: ["appAppleId": 1])) == .wrongApp)
    #expect(refusal(Sample.body(data: ["appAppleId": nil])) == .wrongApp)
    #expect(refusal(Sample.body(), by: Sample.verifier(appID: nil)) == .wrongApp)
  }

  @Test(arguments: ["Xcode", "LocalTesting", "production", ""])
  func `an environment of developers is refused`(name: String) {
    #expect(refusal(Sample.body(data: ["environment": .string(name)])) == .wrongEnvironment)
  }

  @Test func `a notification from the future is refused`() {
    let late = Sample.now + .minutes(5)
    #expect(refusal(Sample.body(["signedDate": .integer(late.milliseconds)])) == nil)
    #expect(refusal(Sample.body(["signedDate": .integer(late.milliseconds + 1)])) == .inFuture)
  }

  @Test func `a notification without a date is refused`() {
    #expect(refusal(Sample.body(["signedDate": nil])) == .missingDate)
    #expect(refusal(Sample.body(["signedDate": "today"])) == .missingDate)
    #expect(refusal(Sample.body(["signedDate": -1])) == .missingDate)
  }

  @Test func `a transaction in the place of a notification is refused`() {
    let text = Sample.chain.sign(Sample.transactionPayload())
    #expect(refusal(Sample.body(signed: text)) == .wrongBundle)
  }

  @Test func `what is no signed payload is refused`() {
    for body in ["", "{}", "[]", #"{"signedPayload":null}"#, #"{"signedPayload":1}"#, "a.b.c"] {
      #expect(refusal(Array(body.utf8)) == .malformed, "\(body)")
    }
    #expect(refusal(Sample.body(signed: "a.b")) == .malformed)
  }

  @Test(arguments: Sample.unreadable)
  func `what cannot be read is forged where its signature is`(payload: String) {
    let text = CompactJWS.compact(
      header: Sample.chain.header, payload: Array(payload.utf8), sign: P256PrivateKey().signature)
    #expect(refusal(Sample.body(signed: text)) == .badSignature)
  }

  @Test func `a body longer than any notification is refused unread`() {
    let body = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
    #expect(refusal(body) == .tooLong)
  }

  @Test func `one altered bit anywhere is refused`() {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "ForgeryTests.bit"))
    let verifier = Sample.verifier()
    let text = Array(Sample.chain.sign(Self.payload).utf8)
    let genuine = Sample.body(signed: String(decoding: text, as: UTF8.self))
    #expect(refusal(genuine, by: verifier) == nil)
    for _ in 0..<400 {
      var altered = text
      let place = Int.random(in: text.indices, using: &random)
      altered[place] ^= 1 << UInt8.random(in: 0..<7, using: &random)
      let body = Sample.body(signed: String(decoding: altered, as: UTF8.self))
      #expect(refusal(body, by: verifier) != nil, "byte \(place)")
    }
  }

  @Test func `each refusal has a name of its own`() {
    let refusals: [AppleRefusal] = [
      .tooLong, .malformed, .critHeader, .algorithm(.none), .algorithm(.hs256), .algorithm(.rs256),
      .algorithm(.other), .certificateCount, .certificateEncoding, .wrongRoot, .leafIsAuthority,
      .intermediateIsNotAuthority, .missingMarker(.leaf), .missingMarker(.intermediate),
      .notYetValid, .expired, .wrongKey, .brokenChain, .unsuitableCertificate, .signatureEncoding,
      .badSignature, .missingDate, .inFuture, .wrongBundle, .wrongApp, .wrongEnvironment,
      .contradiction, .inner(.transaction, .badSignature), .inner(.renewal, .badSignature),
    ]
    #expect(Set(refusals.map { $0.name }).count == refusals.count)
  }
}
