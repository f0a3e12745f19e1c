import Base
import Crypto
import JSON
import JWS
import SeededRandom
import Testing

struct CompactJWSTests {
  /// RFC 7515, appendix A.3.
  private static let header = "eyJhbGciOiJFUzI1NiJ9"
  private static let payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0"
    + "cnVlfQ"
  private static let signature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

  private func refusal(_ text: String, byteCountMax: Int = 1 << 18) -> JWSError? {
    do throws(JWSError) {
      _ = try CompactJWS(Array(text.utf8), byteCountMax: byteCountMax)
      return nil
    } catch { return error }
  }

  private func refusal(header: String) -> JWSError? {
    refusal(Base64.url.encode(Array(header.utf8)) + "." + Self.payload + "." + Self.signature)
  }

  @Test func `the RFC's example is read and verified`() throws {
    let text = Self.header + "." + Self.payload + "." + Self.signature
    let jws = try CompactJWS(Array(text.utf8))
    #expect(jws.algorithm == "ES256")
    #expect(jws.payload.starts(with: Array("{\"iss\":\"joe\",".utf8)))
    let x = try #require(Base64.url.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
    let y = try #require(Base64.url.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
    let key = try #require(P256PublicKey(x963: [4] + x + y))
    #expect(key.isValid(signature: jws.signature, for: jws.signingInput))
  }

  @Test func `what we write is read again and verified`() throws {
    let key = P256PrivateKey()
    let text = CompactJWS.compact(
      header: ["alg": "ES256", "kid": "K"], payload: ["a": 1] as JSONValue, sign: key.signature)
    let jws = try CompactJWS(Array(text.utf8))
    #expect(jws.header["kid"].string == "K")
    #expect(jws.payload == Array(#"{"a":1}"#.utf8))
    #expect(key.publicKey.isValid(signature: jws.signature, for: jws.signingInput))
  }

  @Test(
    arguments: [
      "", ".", "..", "a.b", "\(header).\(payload)", "\(header).\(payload).\(signature).",
      "\(header).\(payload).\(signature).\(signature)", ".\(payload).\(signature)",
      "\(header).\(payload).",
    ])
  func `there are three segments, and each says something`(text: String) {
    guard case .malformed? = refusal(text) else {
      Issue.record("\(text) was read")
      return
    }
  }

  @Test func `an empty payload is for the reader to judge`() throws {
    let text = "\(Self.header)..\(Self.signature)"
    #expect(try CompactJWS(Array(text.utf8)).payload.isEmpty)
  }

  @Test(arguments: ["=", "==", " ", "\n", "+", "/", "\u{0}", "é"])
  func `a segment is base64url and nothing else`(extra: String) {
    for text in [
      "\(Self.header)\(extra).\(Self.payload).\(Self.signature)",
      "\(Self.header).\(Self.payload)\(extra).\(Self.signature)",
      "\(Self.header).\(Self.payload).\(Self.signature)\(extra)",
    ] { #expect(refusal(text) != nil, "\(text)") }
  }

  @Test func `the last character carries no stray bits`() {
    let last = Self.signature.dropLast() + "R"
    #expect(refusal("\(Self.header).\(Self.payload).\(last)") != nil)
  }

  @Test(
    arguments: [
      "", "{", "[]", "\"ES256\"", "null", "{}", #"{"alg":null}"#, #"{"alg":256}"#,
      #"{"alg":"ES256","alg":"none"}"#, #"{"alg":["ES256"]}"#,
    ])
  func `a header is one object that names its algorithm once`(header: String) {
    guard case .malformed? = refusal(header: header) else {
      Issue.record("\(header) was read")
      return
    }
  }

  @Test(arguments: [#"["exp"]"#, "[]", "null", #""b64""#])
  func `a header with crit is refused, whatever it lists`(list: String) {
    #expect(refusal(header: #"{"alg":"ES256","crit":\#(list)}"#) == .critical)
  }

  @Test(arguments: ["none", "HS256", "es256", "ES256 "])
  func `an algorithm is told as it stands`(algorithm: String) throws {
    let header = Base64.url.encode(Array(#"{"alg":"\#(algorithm)"}"#.utf8))
    let text = "\(header).\(Self.payload).\(Self.signature)"
    #expect(try CompactJWS(Array(text.utf8)).algorithm == algorithm)
  }

  @Test func `a longer text than allowed is not read`() {
    let text = "\(Self.header).\(Self.payload).\(Self.signature)"
    #expect(refusal(text, byteCountMax: text.utf8.count) == nil)
    #expect(refusal(text, byteCountMax: text.utf8.count - 1) == .tooLong)
  }

  @Test func `a header larger than certificates need is not read`() {
    let x5c = String(repeating: "A", count: 40_000)
    #expect(refusal(header: #"{"alg":"ES256","x5c":"\#(x5c)"}"#) == .tooLong)
  }

  @Test func `random bytes never stop the program`() {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "CompactJWSTests.bytes"))
    for _ in 0..<2000 {
      var text = Array("\(Self.header).\(Self.payload).\(Self.signature)".utf8)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: text.indices, using: &random)
        text[place] = UInt8.random(in: 0...255, using: &random)
      }
      _ = try? CompactJWS(text)
    }
  }
}
