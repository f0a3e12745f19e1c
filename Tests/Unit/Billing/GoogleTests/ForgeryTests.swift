import Base
import Crypto
import Google
import JSON
import SeededRandom
import Testing

/// Pushes that are not from our push subscription: each forgery has its own refusal.
struct ForgeryTests {
  @Test func `a genuine token is believed, again and again`() {
    let gate = Gate()
    for _ in 0..<3 { #expect(gate.refusal(Sample.bearer()) == nil) }
    #expect(gate.endpoint.requestCount == 1)
  }

  @Test(arguments: ["bearer ", "BEARER "])
  func `the scheme's letters may be of either case`(scheme: String) {
    let token = Sample.bearer().dropFirst(7)
    #expect(Gate().refusal(scheme + token) == nil)
  }

  @Test(arguments: [nil, "", "Bearer", "Basic dXNlcjpwYXNz", "Token x"])
  func `no bearer token`(authorization: String?) {
    #expect(Gate().refusal(authorization) == .missingToken)
  }

  @Test(arguments: ["Bearer ", "Bearer a.b", "Bearer a.b.c.d", "Bearer ä.b.c", "Bearer  x.y.z"])
  func `a token that is none`(authorization: String) {
    #expect(Gate().refusal(authorization) == .malformed)
  }

  @Test func `a token of ten thousand bytes`() {
    #expect(
      Gate().refusal("Bearer " + String(repeating: "a", count: 10_000)) == .tooLong)
  }

  @Test(arguments: [
    "https://billing.coffer.example/webhooks/google/", "https://evil.example", "",
  ])
  func `another audience`(audience: String) {
    #expect(
      Gate().refusal(Sample.bearer(Sample.claims(["aud": .string(audience)]))) == .wrongAudience)
  }

  @Test func `a list of audiences, though ours is in it`() {
    let claims = Sample.claims(["aud": [.string(Sample.audience)]])
    #expect(Gate().refusal(Sample.bearer(claims)) == .wrongAudience)
  }

  /// U+212A, the Kelvin sign, is canonically equivalent to the letter: equal to it as a `String`.
  @Test func `an audience or address that only Unicode takes for ours`() {
    let trust = GoogleTrust(packages: ["app.coffer"], audience: "https://K", email: "K@coffer")
    let gate = Gate(trust: trust)
    let changes: Sample.Changes = ["aud": "https://K", "email": "K@coffer"]
    func refusal(_ name: String, _ value: JSONValue) -> GoogleRefusal? {
      gate.refusal(Sample.bearer(Sample.claims(changes.merging([name: value]) { $1 })))
    }
    #expect(refusal("sub", "1") == nil)
    #expect(refusal("aud", "https://\u{212A}") == .wrongAudience)
    #expect(refusal("email", "\u{212A}@coffer") == .wrongEmail)
  }

  @Test func `an audience of null or none`() {
    #expect(Gate().refusal(Sample.bearer(Sample.claims(["aud": .null]))) == .wrongAudience)
    #expect(
      Gate().refusal(Sample.bearer(Sample.claims(["aud": Optional<JSONValue>.none])))
        == .wrongAudience)
  }

  @Test func `somebody else's service account, signed by Google all the same`() {
    let claims = Sample.claims(["email": "push@evil.iam.gserviceaccount.com"])
    #expect(Gate().refusal(Sample.bearer(claims)) == .wrongEmail)
  }

  @Test(arguments: [JSONValue.bool(false), .string("true"), .null])
  func `an address that is not verified`(value: JSONValue) {
    let claims = Sample.claims(["email_verified": value])
    #expect(Gate().refusal(Sample.bearer(claims)) == .emailUnverified)
  }

  @Test(arguments: ["https://accounts.google.com.evil.example", "accounts.google.co", ""])
  func `another issuer`(issuer: String) {
    let claims = Sample.claims(["iss": .string(issuer)])
    #expect(Gate().refusal(Sample.bearer(claims)) == .wrongIssuer)
  }

  @Test func `both of Google's issuers are one`() {
    let claims = Sample.claims(["iss": "accounts.google.com"])
    #expect(Gate().refusal(Sample.bearer(claims)) == nil)
  }

  @Test func `an expired token, also one that was believed before`() {
    let gate = Gate()
    #expect(gate.refusal(Sample.bearer()) == nil)
    gate.now = Sample.now + .seconds(3590 + 60)
    #expect(gate.refusal(Sample.bearer()) == .expired)
    #expect(
      Gate().refusal(Sample.bearer(Sample.claims(["exp": .integer(Sample.now.seconds - 61)])))
        == .expired)
  }

  @Test func `a token from the future`() {
    let claims = Sample.claims(["iat": .integer(Sample.now.seconds + 61)])
    #expect(Gate().refusal(Sample.bearer(claims)) == .notYetValid)
  }

  @Test(arguments: [JSONValue.null, .string("soon"), .integer(.max), .integer(-1)])
  func `a time that is none`(value: JSONValue) {
    #expect(Gate().refusal(Sample.bearer(Sample.claims(["exp": value]))) == .malformed)
  }

  @Test func `the algorithm none, without and with a signature`() {
    let header = Sample.header(["alg": "none"])
    #expect(Gate().refusal(Sample.bearer(header: header, sign: { _ in [] })) == .malformed)
    #expect(Gate().refusal(Sample.bearer(header: header)) == .algorithm)
  }

  @Test func `algorithm confusion: a code made with the public key as the secret`() {
    let secret = Secret(Sample.key.publicKey.modulus)
    let token = Sample.bearer(header: Sample.header(["alg": "HS256"])) { input in
      HMACSHA256.code(key: secret, input)
    }
    #expect(Gate().refusal(token) == .algorithm)
  }

  @Test(arguments: ["RS512", "RS384", "PS256", "ES256", "rs256", ""])
  func `any other algorithm`(name: String) {
    let header = Sample.header(["alg": .string(name)])
    #expect(Gate().refusal(Sample.bearer(header: header)) == .algorithm)
  }

  @Test func `a header that demands extensions`() {
    let header = Sample.header(["crit": ["exp"]])
    #expect(Gate().refusal(Sample.bearer(header: header)) == .critHeader)
  }

  @Test func `a key that the token itself brings is not looked at`() {
    let header = Sample.header([
      "jwk": [
        "kty": "RSA", "n": .string(Base64.url.encode(Sample.otherKey.publicKey.modulus)),
        "e": "AQAB",
      ], "x5u": "https://evil.example/key",
    ])
    #expect(
      Gate().refusal(Sample.bearer(header: header, sign: Sample.otherKey.signature))
        == .badSignature)
  }

  @Test func `a key id that is not in the set, or none`() {
    let gate = Gate()
    #expect(gate.refusal(Sample.bearer(header: Sample.header(["kid": "k9"]))) == .unknownKey)
    #expect(
      gate.refusal(Sample.bearer(header: Sample.header(["kid": Optional<JSONValue>.none])))
        == .unknownKey)
  }

  @Test func `another key's signature under a known id`() {
    #expect(Gate().refusal(Sample.bearer(sign: Sample.otherKey.signature)) == .badSignature)
  }

  @Test func `one altered bit anywhere`() {
    let gate = Gate()
    let token = Array(Sample.bearer().utf8)
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "ForgeryTests.bit"))
    for _ in 0..<200 {
      var altered = token
      let index = Int.random(in: 7..<token.count, using: &random)
      altered[index] ^= 1 << UInt8.random(in: 0..<7, using: &random)
      // The last character of a segment has unused bits, which strict base64 refuses.
      #expect(
        gate.refusal(String(decoding: altered, as: UTF8.self)) != nil,
        "byte \(index)")
    }
  }
}
