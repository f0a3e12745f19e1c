import Base
import Crypto
import HTTPMessages
import HTTPSignatures
import Testing

/// A proxy may sign what it forwards (RFC 9421, section 4.3); the signature that counts is the
/// client's.
@Suite struct SeveralSignaturesTests {
  private let request = TestRequest()

  private func head(
    _ entries: [(label: String, parameters: String, signature: [UInt8])], target: String? = nil
  ) -> RequestHead {
    let inputs = entries.map { "\($0.label)=\($0.parameters)" }.joined(separator: ", ")
    let values = entries.map { "\($0.label)=:\(Base64.standard.encode($0.signature)):" }
      .joined(separator: ", ")
    return RequestHead(
      method: request.method, target: target ?? request.target,
      headers: Headers([("Signature-Input", inputs), ("Signature", values)]),
      authority: request.authority)
  }

  private var ours: (label: String, parameters: String, signature: [UInt8]) {
    ("sig1", request.parameters, request.signature())
  }

  private static let zeros = [UInt8](repeating: 0, count: 64)

  /// The parameters of proxies' signatures, none of which is a client's.
  private static let proxies = [
    #"("@method" "@path" "signature";key="sig1");created=1;keyid="proxy";alg="hmac-sha256""#,
    #"("signature";key="sig1");created=1;keyid="proxy";alg="rsa-v1_5-sha256""#,
    #"("@method" "@authority" "@path" "@query");created=1;keyid="proxy-7";alg="ed25519""#,
    #"("@method" "@authority" "@path" "@query");created=1;keyid="proxy""#,
    #"();created=1"#,
  ]

  @Test(arguments: proxies, [true, false])
  func `a proxy's signature beside the client's changes nothing`(
    parameters: String, comesFirst: Bool
  ) throws {
    let other = (label: "proxy", parameters: parameters, signature: Self.zeros)
    let both = head(comesFirst ? [other, ours] : [ours, other])
    let signature = try verify(both, policy: TestRequest.policy, now: TestRequest.now)
    #expect(signature.keyID == TestRequest.key.publicKey)
  }

  @Test func `a proxy that covers too little with a device key is not taken for the client`() throws
  {
    let key = Ed25519PrivateKey()
    let keyID = Base64.standard.encode(key.publicKey.bytes)
    let parameters = "(\"@method\");created=\(request.created);keyid=\"\(keyID)\";alg=\"ed25519\""
    let other = (label: "a", parameters: parameters, signature: Self.zeros)
    #expect(refusal(head([other, ours])) == nil)
  }

  @Test func `of two that could be a client's the one named coffer counts`() throws {
    let stranger = Ed25519PrivateKey()
    var second = request
    second.keyID = Base64.standard.encode(stranger.publicKey.bytes)
    let other = ("other", second.parameters, second.signature(by: stranger))
    let named = ("coffer", request.parameters, request.signature())
    for both in [head([other, named]), head([named, other])] {
      let signature = try verify(both, policy: TestRequest.policy, now: TestRequest.now)
      #expect(signature.keyID == TestRequest.key.publicKey)
    }
  }

  @Test func `of two that could be a client's, neither of them named, none counts`() throws {
    let stranger = Ed25519PrivateKey()
    var second = request
    second.keyID = Base64.standard.encode(stranger.publicKey.bytes)
    let other = (label: "sig2", parameters: second.parameters, second.signature(by: stranger))
    guard case .malformed = refusal(head([ours, other])) else {
      Issue.record("one of two was chosen")
      return
    }
  }

  @Test func `the client's signature counts although the proxy's would hold`() throws {
    let key = Ed25519PrivateKey()
    var second = request
    second.keyID = "proxy"
    let other = (label: "proxy", parameters: second.parameters, second.signature(by: key))
    let broken = (label: "sig1", parameters: request.parameters, signature: Self.zeros)
    #expect(refusal(head([other, broken])) == .badSignature(authority: TestRequest.host))
  }

  @Test func `more signatures than eight are not looked at`() throws {
    let others = (0..<8).map {
      (label: "p\($0)", parameters: Self.proxies[0], signature: Self.zeros)
    }
    guard case .malformed = refusal(head(others + [ours])) else {
      Issue.record("nine signatures were taken")
      return
    }
    #expect(refusal(head(others.dropLast() + [ours])) == nil)
  }

  @Test(arguments: ["", "1234567", String(repeating: "n", count: 65)])
  func `a nonce of a length that is not taken is told so`(nonce: String) {
    var request = TestRequest()
    request.nonce = nonce
    #expect(refusal(request.signed()) == .nonceMissing)
  }
}
