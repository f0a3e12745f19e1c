import Base
import Crypto
import HTTPMessages
import HTTPSignatures
import JSON
import TestFiles
import Testing

/// Checks that requests signed by the PyPI library http-message-signatures are accepted.
///
/// The environment variable COFFER_PYTHON names a Python that has the library; `ops/test` sets it.
@Suite(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
struct IndependentClientTests {
  private struct Sample {
    var method = "PUT"
    var url = "http://sync.example.com/v1/files/7?x=1"
    var body: String? = "hello"
    var nonce: String? = "0123456789abcdef"
    var more: [String] = []
  }

  /// The request as the library's client would send it.
  private func signed(_ sample: Sample) throws -> RequestHead {
    let script = #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
    var arguments = [
      Shell.python!, "/\(script)/ops/interop/http_message_signatures_client.py",
      "--seed", String(repeating: "07", count: 32), "--method", sample.method, "--url", sample.url,
      "--created", String(TestRequest.now.seconds),
      "--expires", String(TestRequest.now.seconds + 300),
    ]
    if let body = sample.body { arguments += ["--body", Hex.encode(body.utf8)] }
    if let nonce = sample.nonce { arguments += ["--nonce", nonce] }
    let json = try JSON.parse(output(of: arguments + sample.more))
    var headers: [(String, String)] = []
    var target = ""
    for pair in try json.requireArray() {
      let name = try pair[0].requireString()
      let value = try pair[1].requireString()
      if name == ":target" { target = value } else { headers.append((name, value)) }
    }
    return RequestHead(
      method: sample.method, target: target, headers: Headers(headers),
      authority: "sync.example.com")
  }

  private func accept(_ sample: Sample) throws -> VerifiedSignature {
    try verify(try signed(sample), policy: TestRequest.policy, now: TestRequest.now)
  }

  @Test func `a request with a body is accepted`() throws {
    let signature = try accept(Sample())
    #expect(signature.keyID == TestRequest.key.publicKey)
    #expect(signature.nonce == Array("0123456789abcdef".utf8))
    #expect(signature.contentDigest?.matches(Array("hello".utf8)) == true)
  }

  @Test func `a request without body and query is accepted`() throws {
    let sample = Sample(
      method: "GET", url: "http://sync.example.com/v1/updates", body: nil, nonce: nil)
    #expect(try accept(sample).contentDigest == nil)
  }

  @Test func `an empty body is accepted`() throws {
    #expect(try accept(Sample(method: "POST", body: "")).contentDigest?.matches([]) == true)
  }

  @Test func `another label and a tag are accepted`() throws {
    _ = try accept(Sample(more: ["--label", "sig1", "--tag", "sync"]))
  }

  @Test func `escapes in path and query are accepted`() throws {
    _ = try accept(Sample(url: "http://sync.example.com/v1/a%20b/%C3%A9?since=a%2Bb+c&x=%7E&y"))
  }

  @Test(arguments: [
    "@target-uri", "@scheme", "@request-target", #""@query-param";name="x""#, "content-length",
    #""content-length";bs"#,
  ])
  func `further components are accepted`(component: String) throws {
    _ = try accept(Sample(more: ["--cover", component]))
  }

  @Test func `the same signature on another request is refused`() throws {
    let head = try signed(Sample())
    let altered = RequestHead(
      method: "PUT", target: "/v1/files/8?x=1", headers: head.headers,
      authority: head.authority)
    #expect(refusal(altered) == .badSignature(authority: TestRequest.host))
  }
}

/// The output of a command that must succeed.
private func output(of arguments: [String]) throws -> [UInt8] {
  let command = arguments.map { "'" + $0.replacing("'", with: #"'\''"#) + "'" }
    .joined(separator: " ")
  let (output, status) = Shell.run(command)
  #expect(status == 0, "\(command) failed")
  return Array(output.utf8)
}
