import Base
import Stripe
import Testing

struct SignatureTests {
  private static let secret = Secret("whsec_example_0123456789")
  private static let body = Array(#"{"id":"evt_1","object":"event"}"#.utf8)
  private static let signedAt = Instant(seconds: 1_700_000_000)
  private static let code = "423dab6eacd8cdf2dd7b8d97c4af2855a3334aa95a408b67a9e46d5980ea5d1f"
  private static let good = "t=1700000000,v1=\(code)"
  private static let zeros = String(repeating: "0", count: 64)

  private func refusal(
    _ headers: [String], body: [UInt8] = body, after seconds: Double = 0,
    secrets: [Secret] = [secret]
  ) -> SignatureRefusal? {
    guard let secrets = WebhookSecrets(secrets) else {
      Issue.record("no secrets")
      return nil
    }
    do throws(SignatureRefusal) {
      let delivery = try secrets.verify(
        headers: headers.map { Array($0.utf8) }, body: body,
        now: Self.signedAt + .milliseconds(Int64(seconds * 1000)))
      #expect(delivery.body == body)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a vector computed by hand verifies`() {
    #expect(refusal([Self.good]) == nil)
  }

  @Test func `our own header is the worked vector`() {
    let header = signatureHeader(body: Self.body, secret: Self.secret, at: Self.signedAt)
    #expect(header == Self.good)
  }

  @Test(
    arguments: [
      ("t=1700000000,v1=\(zeros),v1=\(code)", nil),
      ("v1=\(code),t=1700000000", nil),
      ("t=1700000000,v0=\(zeros),v1=\(code),v9=x", nil),
      ("t=1700000000,v1=\(code.uppercased())", nil),
      ("t=1700000000,v1=xyz,v1=\(code)", nil),
      ("t=1700000000,v1=\(zeros)", .mismatch),
      ("t=1700000001,v1=\(code)", .mismatch),
      ("t=01700000000,v1=\(code)", .mismatch),
      ("t=1700000000,v0=\(code)", .noSignature),
      ("t=1700000000", .noSignature),
      ("t=1700000000,v1=", .noSignature),
      ("t=1700000000,v1=\(code)00", .noSignature),
      ("t=1700000000,v1=\(code.dropLast())", .noSignature),
      ("t=1700000000, v1=\(code)", .noSignature),
      ("v1=\(code)", .noTimestamp),
      ("t=1700000000,t=1700000000,v1=\(code)", .duplicateTimestamp),
      ("t=1700000000,v1=\(code),t=1", .duplicateTimestamp),
      ("t=,v1=\(code)", .malformed),
      ("t=-1,v1=\(code)", .malformed),
      ("t=1.7e9,v1=\(code)", .malformed),
      ("t=999999999999999999999,v1=\(code)", .malformed),
      ("t=1700000000,v1=\(code),", .malformed),
      ("t=1700000000,v1", .malformed),
      ("t=1700000000,v1=\(code)=", .malformed),
      ("", .malformed),
    ] as [(String, SignatureRefusal?)])
  func `a header is judged by its grammar`(header: String, expected: SignatureRefusal?) {
    #expect(refusal([header]) == expected)
  }

  @Test func `no header and two headers are refused`() {
    #expect(refusal([]) == .missingHeader)
    #expect(refusal([Self.good, Self.good]) == .malformed)
  }

  @Test func `a header beyond four kilobytes is refused unread`() {
    let long = Self.good + String(repeating: ",v1=\(Self.zeros)", count: 60)
    #expect(refusal([long]) == .malformed)
  }

  @Test(
    arguments: [
      (0.0, nil), (300, nil), (300.999, nil), (301, .tooOld), (-300, nil), (-300.5, .inFuture),
      (-301, .inFuture), (1e9, .tooOld),
    ] as [(Double, SignatureRefusal?)])
  func `the signing time holds for five minutes either way`(
    seconds: Double, expected: SignatureRefusal?
  ) {
    #expect(refusal([Self.good], after: seconds) == expected)
  }

  @Test func `any of several secrets verifies, during a rotation`() {
    let other = Secret("whsec_other")
    #expect(refusal([Self.good], secrets: [other, Self.secret]) == nil)
    #expect(refusal([Self.good], secrets: [other]) == .mismatch)
  }

  @Test func `the secret is not decoded`() {
    #expect(refusal([Self.good], secrets: [Secret("example_0123456789")]) == .mismatch)
  }

  @Test(arguments: [0, 15, 30])
  func `one changed byte is a mismatch`(index: Int) {
    var body = Self.body
    body[index] ^= 1
    #expect(refusal([Self.good], body: body) == .mismatch)
  }

  @Test func `one added byte is a mismatch`() {
    #expect(refusal([Self.good], body: Self.body + [10]) == .mismatch)
  }

  @Test func `an empty list and an empty secret are no secrets`() {
    #expect(WebhookSecrets([]) == nil)
    #expect(WebhookSecrets([Self.secret, Secret("")]) == nil)
  }
}
