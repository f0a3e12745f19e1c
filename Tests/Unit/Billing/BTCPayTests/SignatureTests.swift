import BTCPay
import Base
import Testing

struct SignatureTests {
  /// The test vector of the server's PHP client, with the secret `abc`.
  private static let body = Array(#"{"a":1,"b":2,"c":3}"#.utf8)
  private static let code = "bc8122472fb9bb9c15d90d7a61b156f54a69d835592c85d0f37f6454d530dec8"
  private static let good = "sha256=\(code)"
  private static let secret = Secret("abc")

  private func refusal(
    _ headers: [String], body: [UInt8] = body, secrets: [Secret] = [secret]
  ) throws -> BTCPayRefusal? {
    let secrets = try #require(BTCPaySecrets(secrets))
    do throws(BTCPayRefusal) {
      let delivery = try secrets.verify(headers: headers.map { Array($0.utf8) }, body: body)
      #expect(delivery.body == body)
      #expect(delivery.signature == Array(headers[0].utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test func `the published vector verifies`() throws {
    #expect(try refusal([Self.good]) == nil)
  }

  @Test(arguments: [
    (Samples.settled, Samples.settledSignature),
    (Samples.redelivered, Samples.redeliveredSignature),
    (Samples.paymentSettledLate, Samples.paymentSettledLateSignature),
  ])
  func `a delivery as the server writes it verifies`(body: [UInt8], signature: String) throws {
    #expect(try refusal([signature], body: body, secrets: [Samples.secret]) == nil)
  }

  @Test(
    arguments: [
      ("sha256=\(code.uppercased())", nil),
      ("sha256=\(String(repeating: "0", count: 64))", .mismatch),
      ("", .malformed), ("sha256=", .malformed), (code, .malformed),
      ("sha256=\(code.dropLast())", .malformed), ("sha256=\(code)0", .malformed),
      ("sha256=\(code.dropLast(2))zz", .malformed), ("SHA256=\(code)", .malformed),
      ("sha512=\(code)", .malformed), ("sha1=\(code.prefix(40))", .malformed),
      ("sha256:\(code)", .malformed), (" sha256=\(code)", .malformed),
      ("sha256=\(code) ", .malformed), ("sha256=\(code),sha256=\(code)", .malformed),
      ("t=1,sha256=\(code)", .malformed), ("sha256= \(code.dropLast())", .malformed),
      ("sha256=\(String(repeating: "a", count: 10_000))", .malformed),
    ] as [(String, BTCPayRefusal?)])
  func `a header is judged by its grammar`(header: String, expected: BTCPayRefusal?) throws {
    #expect(try refusal([header]) == expected)
  }

  @Test func `no header and two headers are refused`() throws {
    #expect(try refusal([]) == .missingHeader)
    #expect(try refusal([Self.good, Self.good]) == .malformed)
  }

  @Test func `any of several secrets verifies, during a rotation`() throws {
    let other = Secret("other")
    #expect(try refusal([Self.good], secrets: [other, Self.secret]) == nil)
    #expect(try refusal([Self.good], secrets: [Self.secret, other]) == nil)
    #expect(try refusal([Self.good], secrets: [other]) == .mismatch)
  }

  @Test func `every changed bit is a mismatch`() throws {
    for index in Self.body.indices {
      for bit in 0..<8 {
        var body = Self.body
        body[index] ^= 1 << bit
        #expect(try refusal([Self.good], body: body) == .mismatch)
      }
    }
  }

  @Test func `line ends are signed as they came`() throws {
    let windows = Samples.settled.flatMap { $0 == 10 ? [13, 10] : [$0] }
    #expect(
      try refusal([Samples.settledSignature], body: windows, secrets: [Samples.secret])
        == .mismatch)
    #expect(
      try refusal(
        [Samples.settledSignature], body: Samples.settled + [10], secrets: [Samples.secret])
        == .mismatch)
  }

  @Test func `an empty list and an empty secret are no secrets`() {
    #expect(BTCPaySecrets([]) == nil)
    #expect(BTCPaySecrets([Self.secret, Secret("")]) == nil)
  }
}
