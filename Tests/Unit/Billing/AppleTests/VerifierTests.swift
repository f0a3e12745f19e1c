import Apple
import Base
import Crypto
import JSON
import JWS
import TestCertificates
import Testing
import Tiers

struct VerifierTests {
  @Test func `Apple's root is the published one`() {
    #expect(Hex.encode(SHA256.hash(AppleRootCA.der)) == AppleRootCA.sha256)
    #expect(X509Certificate(der: AppleRootCA.der)?.isAuthority == true)
    #expect(AppleTrust(bundleID: Sample.bundleID, appAppleID: nil) != nil)
  }

  @Test func `a chain of our own does not lead to Apple's root`() throws {
    let trust = try #require(AppleTrust(bundleID: Sample.bundleID, appAppleID: Sample.appID))
    #expect(refusal(Sample.body(), by: AppleVerifier(trust)) == .wrongRoot)
  }

  @Test func `trust needs a root and an app`() {
    #expect(AppleTrust(roots: [], bundleID: "a", appAppleID: nil) == nil)
    #expect(AppleTrust(roots: [[1, 2]], bundleID: "a", appAppleID: nil) == nil)
    #expect(AppleTrust(bundleID: "", appAppleID: nil) == nil)
  }

  /// Signed as the App Store signs, with members that are not needed.
  @Test(arguments: ["18446744073709551615", "1e400", #""Zo\u0000""#, #""Zo\ud83d""#])
  func `a value that is not needed voids neither a notification nor a transaction`(
    value: String
  ) throws {
    func odd(_ payload: JSONValue) -> [UInt8] {
      let text = String(decoding: payload.encoded(), as: UTF8.self)
      return Array((text.dropLast() + #","odd":\#(value)}"#).utf8)
    }
    let transaction = Sample.chain.sign(odd(Sample.transactionPayload()))
    let signed = Sample.chain.sign(
      odd(Sample.payload(data: Sample.data(["signedTransactionInfo": .string(transaction)]))))
    #expect(refusal(Sample.body(signed: signed), by: Sample.verifier()) == nil)
  }

  @Test func `production and sandbox are told apart by what was signed`() throws {
    let verifier = Sample.verifier()
    #expect(try verifier.verify(body: Sample.body(), now: Sample.now).environment == .live)
    let sandbox: Sample.Changes = [
      "environment": "Sandbox", "appAppleId": nil,
      "signedTransactionInfo": Sample.transaction(["environment": "Sandbox"]),
      "signedRenewalInfo": Sample.renewal(["environment": "Sandbox"]),
    ]
    let verified = try verifier.verify(body: Sample.body(data: sandbox), now: Sample.now)
    #expect(verified.environment == .sandbox)
  }

  @Test func `an old notification is believed at the time it was signed`() throws {
    let chain = Sample.newChain { $0.leaf.notAfter = Sample.now + .days(1) }
    let later = Sample.now + .days(100)
    #expect(refusal(Sample.body(chain: chain), by: Sample.verifier(chain), now: later) == nil)
  }

  @Test func `any of several roots is trusted, each with its own chain`() throws {
    let other = Sample.newChain()
    let roots = [Sample.chain.root.der, other.root.der]
    let trust = try #require(
      AppleTrust(roots: roots, bundleID: Sample.bundleID, appAppleID: Sample.appID))
    let verifier = AppleVerifier(trust)
    #expect(refusal(Sample.body(), by: verifier) == nil)
    #expect(refusal(Sample.body(chain: other), by: verifier) == nil)
    #expect(refusal(Sample.body(chain: Sample.newChain()), by: verifier) == .wrongRoot)
  }

  @Test func `a remembered chain is judged at the time of each signature`() {
    let chain = Sample.newChain {
      $0.leaf.notBefore = Sample.now - .days(10)
      $0.leaf.notAfter = Sample.now - .days(1)
    }
    let verifier = Sample.verifier(chain)
    func answer(_ span: Instant.Span) -> AppleRefusal? {
      let date = Sample.date(span)
      let parts: Sample.Changes = [
        "signedTransactionInfo": Sample.transaction(["signedDate": date], chain: chain),
        "signedRenewalInfo": Sample.renewal(["signedDate": date], chain: chain),
      ]
      return refusal(Sample.body(["signedDate": date], data: parts, chain: chain), by: verifier)
    }
    #expect(answer(.days(-5)) == nil)
    #expect(verifier.chainCount == 1)
    #expect(answer(.days(-20)) == .notYetValid)
    #expect(answer(.hours(-1)) == .expired)
    #expect(answer(.days(-5)) == nil)
  }

  @Test func `forged chains are not remembered`() {
    let verifier = Sample.verifier()
    for _ in 0..<3 {
      let chain = Sample.newChain(root: Sample.chain.root) { $0.leaf.markers = [] }
      #expect(refusal(Sample.body(chain: chain), by: verifier) == .missingMarker(.leaf))
    }
    #expect(verifier.chainCount == 0)
  }

  @Test func `a forged signature under a remembered chain is refused`() {
    let verifier = Sample.verifier()
    #expect(refusal(Sample.body(), by: verifier) == nil)
    var body = Sample.body()
    body[body.count - 20] = body[body.count - 20] == UInt8(ascii: "A") ? 66 : 65
    #expect(refusal(body, by: verifier) == .badSignature)
  }

  @Test func `a forged signature does not have its header remembered`() {
    let verifier = Sample.verifier()
    #expect(refusal(Sample.body(), by: verifier) == nil)
    let header: JSONValue = [
      "alg": "ES256", "more": 1, "x5c": .array(Sample.chain.x5c.map { .string($0) }),
    ]
    let text = CompactJWS.compact(
      header: header, payload: Sample.payload(data: Sample.data()),
      sign: P256PrivateKey().signature)
    for _ in 0..<2 { #expect(refusal(Sample.body(signed: text), by: verifier) == .badSignature) }
    #expect(verifier.chainCount == 1)
  }

  @Test func `a body is read however its JSON is written`() throws {
    let text = Sample.chain.sign(Sample.payload(data: Sample.data()))
    let escaped = text.replacing(".", with: "\\u002e")
    for body in [
      #"{"signedPayload":"\#(text)"}"#, #" { "signedPayload" : "\#(text)" } "#,
      #"{"signedPayload":"\#(escaped)"}"#, #"{"more":[1],"signedPayload":"\#(text)"}"#,
    ] { #expect(refusal(Array(body.utf8)) == nil) }
    for body in [
      #"{"signedPayload":"\#(text)","signedPayload":"x"}"#, #"{"signedPayload":"\#(text)"}}"#,
      #"{"signedPayload":"\#(text)"#, #"{"signedPayload":"\#(text) "}"#,
    ] { #expect(refusal(Array(body.utf8)) == .malformed) }
  }

  @Test func `at most 32 chains are remembered`() {
    let verifier = Sample.verifier()
    for _ in 0..<40 {
      let chain = Sample.newChain(root: Sample.chain.root)
      #expect(refusal(Sample.body(chain: chain), by: verifier) == nil)
    }
    #expect(verifier.chainCount == 32)
  }

  @Test func `a chain is forgotten after a quarter of an hour`() {
    let verifier = Sample.verifier()
    for index in 0..<32 {
      let chain = Sample.newChain(root: Sample.chain.root)
      let now = Sample.now + .seconds(Int64(index))
      #expect(refusal(Sample.body(chain: chain), by: verifier, now: now) == nil)
    }
    let later = Sample.now + .minutes(16)
    #expect(refusal(Sample.body(), by: verifier, now: later) == nil)
    #expect(verifier.chainCount == 1)
  }

  @Test func `threads share one verifier`() {
    let verifier = Sample.verifier()
    let body = Sample.body()
    let refusals = Locked(0)
    let threads = (0..<4).map { _ in
      Thread {
        for _ in 0..<50 where refusal(body, by: verifier) != nil {
          refusals.withLock { $0 += 1 }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(refusals.withLock { $0 } == 0)
  }

  @Test func `a client's transaction is verified alone`() throws {
    let verifier = Sample.verifier()
    let text = Sample.chain.sign(Sample.transactionPayload())
    #expect(try verifier.verify(transaction: text, now: Sample.now).environment == .live)
    let other = Sample.chain.sign(Sample.transactionPayload(["bundleId": "com.example.other"]))
    #expect(throws: AppleRefusal.wrongBundle) {
      try verifier.verify(transaction: other, now: Sample.now)
    }
    let local = Sample.chain.sign(Sample.transactionPayload(["environment": "Xcode"]))
    #expect(throws: AppleRefusal.wrongEnvironment) {
      try verifier.verify(transaction: local, now: Sample.now)
    }
    for payload in Sample.unreadable {
      let unreadable = Sample.chain.sign(Array(payload.utf8))
      #expect(throws: AppleRefusal.malformed) {
        try verifier.verify(transaction: unreadable, now: Sample.now)
      }
    }
  }

  @Test func `the other three objects name the app too`() {
    let summary: JSONValue = [
      "bundleId": .string(Sample.bundleID), "appAppleId": .integer(Sample.appID),
      "environment": "Production", "productId": "notes.pro.monthly", "succeededCount": 5,
    ]
    #expect(refusal(Sample.body(["data": nil, "summary": summary])) == nil)
    #expect(refusal(Sample.body(["data": nil, "appData": summary])) == nil)
    let token: JSONValue = [
      "externalPurchaseId": "SANDBOX_1", "bundleId": .string(Sample.bundleID),
    ]
    #expect(refusal(Sample.body(["data": nil, "externalPurchaseToken": token])) == nil)
    let live: JSONValue = ["externalPurchaseId": "1", "bundleId": .string(Sample.bundleID)]
    #expect(refusal(Sample.body(["data": nil, "externalPurchaseToken": live])) == .wrongApp)
  }
}
