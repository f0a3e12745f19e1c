import Base
import Crypto
import HTTPMessages
import HTTPSignatures
import Testing

@Suite struct VerifyTests {
  @Test func `a signed request without a body is accepted`() throws {
    let signature = try verify(
      TestRequest().signed(), policy: TestRequest.policy, now: TestRequest.now)
    #expect(signature.keyID == TestRequest.key.publicKey)
    #expect(signature.nonce == Array("0123456789abcdef".utf8))
    #expect(signature.created == TestRequest.now - .seconds(5))
    #expect(signature.expires == TestRequest.now + .seconds(200))
    #expect(signature.contentDigest == nil)
  }

  @Test func `a signed request with a body gives the digest to compare`() throws {
    let signature = try verify(
      TestRequest.withBody("hello").signed(), policy: TestRequest.policy, now: TestRequest.now)
    #expect(signature.contentDigest?.matches(Array("hello".utf8)) == true)
    #expect(signature.contentDigest?.matches(Array("hellp".utf8)) == false)
  }

  @Test func `a request without any signature is missing it`() {
    #expect(refusal(TestRequest().head) == .missing)
  }

  @Test(arguments: ["Signature", "Signature-Input"])
  func `one signature header alone is malformed`(name: String) {
    let signed = TestRequest().signed()
    var headers = Headers()
    for field in signed.headers.fields where field.name == name.lowercased() {
      headers.append(field.name, field.value)
    }
    let head = RequestHead(
      method: "PUT", target: signed.target, headers: headers, authority: signed.authority)
    #expect(refusal(head) == .malformed("one of Signature-Input and Signature is missing"))
  }

  @Test(arguments: ["hmac-sha256", "rsa-v1_5-sha256", "ED25519", "none", ""])
  func `another algorithm is unknown`(name: String) {
    var request = TestRequest()
    request.algorithm = name
    #expect(refusal(request.signed()) == .unknownAlgorithm)
  }

  @Test func `a signature must name its algorithm`() {
    var request = TestRequest()
    request.algorithm = nil
    #expect(refusal(request.signed()) == .malformed("no alg"))
  }

  @Test(arguments: ["@method", "@authority", "@path", "@query"])
  func `each required component that is missing is named`(name: String) {
    var request = TestRequest()
    request.components = ["@method", "@authority", "@path", "@query"]
      .filter { $0 != name }.map { "\"\($0)\"" }.joined(separator: " ")
    #expect(refusal(request.signed()) == .componentsMissing([name]))
  }

  @Test func `a signature over nothing is missing everything`() {
    var request = TestRequest()
    request.components = ""
    #expect(
      refusal(request.signed())
        == .componentsMissing(["@method", "@authority", "@path", "@query"]))
  }

  @Test func `a body's digest must be covered`() {
    var request = TestRequest.withBody()
    request.components = TestRequest().components
    #expect(refusal(request.signed()) == .componentsMissing(["content-digest"]))
  }

  @Test func `one member of the digest is not the digest`() {
    var request = TestRequest.withBody()
    request.components = TestRequest().components + #" "content-digest";key="sha-256""#
    #expect(refusal(request.signed()) == .componentsMissing(["content-digest"]))
  }

  @Test(arguments: ["sf", "bs"])
  func `a digest covered in another form is covered`(parameter: String) {
    var request = TestRequest.withBody()
    request.components = TestRequest().components + " \"content-digest\";\(parameter)"
    #expect(refusal(request.signed()) == nil)
  }

  @Test(arguments: [("Content-Length", "5"), ("Transfer-Encoding", "chunked")])
  func `a body without a digest is refused`(name: String, value: String) {
    var request = TestRequest()
    request.headers = [(name, value)]
    #expect(refusal(request.signed()) == .digestMissing)
  }

  @Test func `an empty body needs no digest`() {
    var request = TestRequest()
    request.headers = [("Content-Length", "0")]
    #expect(refusal(request.signed()) == nil)
  }

  @Test func `an empty body may have a digest`() throws {
    let signature = try verify(
      TestRequest.withBody("").signed(), policy: TestRequest.policy, now: TestRequest.now)
    #expect(signature.contentDigest?.matches([]) == true)
  }

  @Test func `a covered digest that is not there is missing`() {
    var request = TestRequest()
    request.components += #" "content-digest""#
    #expect(refusal(request.signed()) == .digestMissing)
  }

  @Test func `a digest of an unknown algorithm is unsupported`() {
    var request = TestRequest.withBody()
    request.headers[1].1 = "md5=:AAAA:"
    #expect(refusal(request.signed()) == .digestUnsupported)
  }

  @Test func `a malformed digest is named`() {
    var request = TestRequest.withBody()
    request.headers[1].1 = "sha-256=abc"
    #expect(refusal(request.signed()) == .digestMalformed)
  }

  @Test(arguments: [
    "other.example.com", "sync.example.com:8080", "sync.example.com.", "example.com",
  ])
  func `a signature for another host is refused`(authority: String) {
    var request = TestRequest()
    request.authority = authority
    #expect(refusal(request.signed()) == .wrongAuthority(expected: [TestRequest.host]))
  }

  @Test(arguments: [("SYNC.example.com", "http"), ("sync.example.com:443", "https")])
  func `our host in another spelling is ours`(authority: String, scheme: String) {
    var request = TestRequest()
    request.authority = authority
    request.scheme = scheme
    #expect(refusal(request.signed()) == nil)
  }

  @Test func `a clock may be thirty seconds ahead and no more`() {
    var request = TestRequest()
    request.created = TestRequest.now.seconds + 30
    #expect(refusal(request.signed()) == nil)
    request.created += 1
    #expect(refusal(request.signed()) == .notYetValid)
  }

  @Test func `a signature ends at its expiry`() {
    var request = TestRequest()
    request.expires = TestRequest.now.seconds + 1
    #expect(refusal(request.signed()) == nil)
    request.expires = TestRequest.now.seconds
    #expect(refusal(request.signed()) == .expired)
  }

  @Test func `a lifetime is at most three hundred seconds`() {
    var request = TestRequest()
    request.expires = request.created + 300
    #expect(refusal(request.signed()) == nil)
    request.expires += 1
    #expect(refusal(request.signed()) == .lifetimeTooLong)
  }

  @Test(arguments: [0, -1])
  func `a lifetime of nothing is refused`(seconds: Int64) {
    var request = TestRequest()
    request.expires = request.created + seconds
    #expect(refusal(request.signed()) == .lifetimeTooLong)
  }

  @Test(arguments: [999_999_999_999_999, -999_999_999_999_999] as [Int64])
  func `extreme times are refused, not fatal`(seconds: Int64) {
    var request = TestRequest()
    request.created = seconds
    #expect(refusal(request.signed()) != nil)
    request = TestRequest()
    request.expires = seconds
    #expect(refusal(request.signed()) == .lifetimeTooLong)
  }

  @Test(arguments: ["PUT", "POST", "DELETE", "PATCH"])
  func `a method that changes something needs a nonce`(method: String) {
    var request = TestRequest()
    request.method = method
    request.nonce = nil
    #expect(refusal(request.signed()) == .nonceMissing)
  }

  @Test(arguments: ["GET", "HEAD"])
  func `a safe method needs no nonce`(method: String) {
    var request = TestRequest()
    request.method = method
    request.nonce = nil
    #expect(refusal(request.signed()) == nil)
  }

  @Test(arguments: [(7, false), (8, true), (64, true), (65, false)])
  func `a nonce has eight to sixty-four bytes`(count: Int, isAccepted: Bool) {
    var request = TestRequest()
    request.nonce = String(repeating: "n", count: count)
    #expect((refusal(request.signed()) == nil) == isAccepted)
  }

  @Test(arguments: ["", "abc", "test-key-ed25519", "AAAA", String(repeating: "A", count: 86)])
  func `a key identifier that is no key is bad`(keyID: String) {
    var request = TestRequest()
    request.keyID = keyID
    #expect(refusal(request.signed()) == .badKey)
  }

  @Test func `a key identifier in the URL alphabet is the same key`() {
    var request = TestRequest()
    request.keyID = Base64.url.encode(TestRequest.key.publicKey.bytes)
    #expect(refusal(request.signed()) == nil)
    request.keyID += "="
    #expect(refusal(request.signed()) == nil)
  }

  @Test func `a signature by another key is bad`() {
    #expect(
      refusal(TestRequest().signed(by: Ed25519PrivateKey()))
        == .badSignature(authority: TestRequest.host))
  }

  @Test func `a tag and unknown parameters are signed and allowed`() {
    var request = TestRequest()
    request.more = #";tag="app";future=?1;n=1.5"#
    #expect(refusal(request.signed()) == nil)
  }

  @Test func `further covered components are allowed`() {
    var request = TestRequest.withBody()
    request.headers.append(("If-Match", "\"3\""))
    request.components += #" "if-match" "@target-uri" "@scheme" "@request-target""#
    request.components += #" "@query-param";name="x" "content-length""#
    #expect(refusal(request.signed()) == nil)
  }

  @Test func `a covered field that a proxy altered makes the signature bad`() {
    var request = TestRequest()
    request.headers = [("If-Match", "\"3\"")]
    request.components += #" "if-match""#
    let signature = request.signed().headers.fields.filter { $0.name.hasPrefix("signature") }
    var headers = Headers([("If-Match", "\"4\"")])
    for field in signature { headers.append(field.name, field.value) }
    let head = RequestHead(
      method: "PUT", target: request.target, headers: headers, authority: request.authority)
    #expect(refusal(head) == .badSignature(authority: TestRequest.host))
  }

  @Test func `the fingerprint tells another request with the same nonce`() throws {
    func fingerprint(_ request: TestRequest) throws -> [UInt8] {
      try verify(request.signed(), policy: TestRequest.policy, now: TestRequest.now).fingerprint
    }
    let first = try fingerprint(.withBody("a"))
    var other = TestRequest.withBody("a")
    other.target = "/v1/files/8?x=1"
    #expect(try fingerprint(.withBody("a")) == first)
    #expect(try fingerprint(.withBody("b")) != first)
    #expect(try fingerprint(other) != first)
    #expect(first.count == 32)
  }
}
