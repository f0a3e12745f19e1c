import Base
import JWS
import Testing

struct UnfoldedPartTests {
  private func encoded(_ text: String) -> String { Base64.url.encode(Array(text.utf8)) }

  private func signed(_ text: String) -> String {
    "\(encoded("{}")).\(encoded(text)).\(encoded("x"))"
  }

  @Test func `what is signed within a signed part is found in its place`() {
    let body =
      #"{"signedPayload":"\#(signed(#"{"data":[{"info":"\#(signed(#"{"id":7}"#))"}]}"#))"}"#
    let parts = UnfoldedPart.all(in: Array(body.utf8))
    #expect(parts.map(\.path) == ["$.signedPayload", "$.signedPayload.data[0].info"])
    #expect(parts.last?.text == "{\n  \"id\": 7\n}")
    #expect(parts.first?.text.contains(#""info": (below)"#) == true)
  }

  @Test func `base64 is read, and a body that is signed as a whole`() {
    let data = Base64.standard.encode(Array(#"{"a":"b"}"#.utf8))
    #expect(UnfoldedPart.all(in: Array(#"{"data":"\#(data)"}"#.utf8)).map(\.path) == ["$.data"])
    #expect(UnfoldedPart.all(in: Array(signed(#"{"a":"b"}"#).utf8)).map(\.path) == ["$"])
  }

  @Test(arguments: [#"{"a":"b"}"#, "[]", "no JSON"])
  func `a body without such parts has none`(body: String) {
    #expect(UnfoldedPart.all(in: Array(body.utf8)).isEmpty)
  }
}
