import Base
import HTTPMessages
import HTTPSignatures
import Testing

/// Malformed signature headers, each altered by hand from one that is accepted.
@Suite struct MalformedSignatureTests {
  private let request = TestRequest()

  private func isMalformed(_ input: String, _ signature: String? = nil) -> Bool {
    let value = Base64.standard.encode(request.signature())
    let head = RequestHead(
      method: request.method, target: request.target,
      headers: Headers([
        ("Signature-Input", input), ("Signature", signature ?? "sig1=:\(value):"),
      ]), authority: request.authority)
    if case .malformed = refusal(head) { return true }
    return false
  }

  @Test func `the request that the others are altered from is accepted`() {
    #expect(refusal(request.signed()) == nil)
    #expect(!isMalformed("sig1=\(request.parameters)"))
  }

  @Test func `two signatures of one shape are refused`() {
    let input = "sig1=\(request.parameters), sig2=\(request.parameters)"
    let value = Base64.standard.encode(request.signature())
    #expect(isMalformed(input, "sig1=:\(value):, sig2=:\(value):"))
    #expect(isMalformed(input))
    #expect(isMalformed("sig1=\(request.parameters)", "sig1=:\(value):, sig2=:\(value):"))
  }

  @Test func `two headers are one field with two signatures`() {
    let signed = request.signed()
    var headers = signed.headers
    headers.append("Signature-Input", Array("sig2=\(request.parameters)".utf8))
    let head = RequestHead(
      method: request.method, target: request.target, headers: headers,
      authority: request.authority)
    #expect(refusal(head) == .malformed("the two do not have the same labels"))
  }

  @Test func `one label twice is refused`() {
    #expect(isMalformed("sig1=\(request.parameters), sig1=\(request.parameters)"))
  }

  @Test func `two labels that differ are refused`() {
    #expect(isMalformed("sig2=\(request.parameters)"))
  }

  @Test(arguments: [
    "", " ", "sig1", "sig1=", "sig1=1", "sig1=(", "sig1=()x", "Sig1=()", "sig1=(),", ",", "=()",
    "sig1=(\"@method\"\"@path\")", "sig1=(\"@method\",\"@path\")", "sig1=(\"é\")",
  ])
  func `an input that is no list of components is refused`(input: String) {
    #expect(isMalformed(input))
  }

  @Test(arguments: [
    "", "sig1", "sig1=1", "sig1=\"AAAA\"", "sig1=AAAA", "sig1=:AAAA", "sig1=:A:", "sig1=:AA:",
    "sig1=(:AAAA:)", "sig1=:A AA:", "sig1=:AB==:",
  ])
  func `a signature that is no byte sequence is refused`(signature: String) {
    #expect(isMalformed("sig1=\(request.parameters)", signature))
  }

  @Test(arguments: ["sig1=::", "sig1=:AAAA:"])
  func `a signature of another length is bad`(signature: String) {
    let head = RequestHead(
      method: request.method, target: request.target,
      headers: Headers([
        ("Signature-Input", "sig1=\(request.parameters)"), ("Signature", signature),
      ]), authority: request.authority)
    #expect(refusal(head) == .badSignature(authority: TestRequest.host))
  }

  @Test(arguments: ["created", "expires", "keyid", "alg", "nonce"])
  func `a parameter of another type is refused`(name: String) {
    let text = request.parameters.split(separator: ";").map { part in
      part.hasPrefix(name + "=") ? "\(name)=?0" : String(part)
    }.joined(separator: ";")
    #expect(isMalformed("sig1=\(text)"))
  }

  @Test(arguments: ["created", "expires", "keyid", "alg"])
  func `a parameter that is needed and missing is refused`(name: String) {
    let text = request.parameters.split(separator: ";").filter { !$0.hasPrefix(name + "=") }
      .joined(separator: ";")
    #expect(isMalformed("sig1=\(text)"))
  }

  @Test(arguments: ["created=1", "keyid=\"x\"", "alg=\"ed25519\""])
  func `a parameter twice is refused`(parameter: String) {
    #expect(isMalformed("sig1=\(request.parameters);\(parameter)"))
  }

  @Test func `a component twice is refused`() {
    var request = TestRequest()
    request.components += #" "@path""#
    #expect(refusal(request.signed()) == .malformed("the component @path stands twice"))
  }

  @Test func `an input without end in size is refused`() {
    let many = (0..<2000).map { "\"x-\($0)\"" }.joined(separator: " ")
    #expect(isMalformed("sig1=(\(many));created=1"))
  }

  @Test func `more components than the limit are refused`() {
    let many = (0..<65).map { "\"x-\($0)\"" }.joined(separator: " ")
    #expect(isMalformed("sig1=(\(many));created=1"))
  }
}
