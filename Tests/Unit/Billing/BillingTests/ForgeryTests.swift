import Base
import Endpoints
import HTTPMessages
import HTTPServer
import TestCertificates
import Testing

/// Deliveries that the App Store did not send: each gets its own reason, and nothing is kept.
struct ForgeryTests {
  private static let moment = day(1)
  private static let id = "6a1c3c5e-0000-4000-8000-000000000001"

  private static func genuine(_ id: String = id, chain: AppleTestChain = AppleSample.chain)
    -> [UInt8]
  {
    AppleSample.notification(
      id, AppleSample.transaction("2000", day: 0, signed: moment, chain: chain), signed: moment,
      chain: chain)
  }

  private static func chain(_ spoil: (inout AppleTestChain.Plans) -> Void) -> AppleTestChain {
    AppleTestChain(
      notBefore: day0 - .days(200), notAfter: day0 + .days(900), root: AppleSample.chain.root,
      spoil)
  }

  struct Forgery: Sendable, CustomTestStringConvertible {
    let reason: String
    let status: Int
    let body: @Sendable () -> [UInt8]
    var testDescription: String { reason }
  }

  static let forgeries: [Forgery] = [
    Forgery(reason: "wrong_root", status: 400) {
      genuine(chain: AppleTestChain(notBefore: day0 - .days(9), notAfter: day0 + .days(99)))
    },
    Forgery(reason: "missing_leaf_marker", status: 400) {
      genuine(chain: chain { $0.leaf.markers = [] })
    },
    Forgery(reason: "expired", status: 400) {
      genuine(chain: chain { $0.leaf.notAfter = day0 })
    },
    Forgery(reason: "not_yet_valid", status: 400) {
      genuine(chain: chain { $0.leaf.notBefore = day(2) })
    },
    Forgery(reason: "wrong_bundle", status: 403) {
      AppleSample.notification(
        id, AppleSample.transaction("2000", day: 0, signed: moment), signed: moment,
        bundleID: "com.example.other")
    },
    Forgery(reason: "transaction_wrong_root", status: 400) {
      let other = AppleTestChain(notBefore: day0 - .days(9), notAfter: day0 + .days(99))
      return AppleSample.notification(
        id, AppleSample.transaction("2000", day: 0, signed: moment, chain: other), signed: moment)
    },
    Forgery(reason: "transaction_wrong_environment", status: 400) {
      AppleSample.notification(
        id,
        AppleSample.transaction("2000", day: 0, environment: "Sandbox", signed: moment),
        signed: moment)
    },
    Forgery(reason: "in_future", status: 400) {
      AppleSample.notification(
        id, AppleSample.transaction("2000", day: 0, signed: moment), signed: day(3))
    },
    Forgery(reason: "malformed", status: 400) { Array(#"{"signedPayload":null}"#.utf8) },
    Forgery(reason: "malformed", status: 400) { Array("no json".utf8) },
  ]

  @Test(arguments: forgeries)
  func `a forged delivery is told its reason and leaves no row`(forgery: Forgery) throws {
    let shop = try Shop()
    let answer = try shop.deliver(forgery.body(), at: Self.moment)
    #expect(answer == (forgery.status, forgery.reason))
    let rows = try shop.count("SELECT count(*) FROM billing.deliveries")
    #expect(rows == 0)
    #expect(try shop.count("SELECT count(*) FROM billing.mirrors") == 0)
  }

  @Test func `what the App Store signed and cannot be read is kept, and is no forgery`() throws {
    let shop = try Shop()
    let text = AppleSample.chain.sign(Array(#"{"a":1,"a":2}"#.utf8))
    let body = Array(#"{"signedPayload":"\#(text)"}"#.utf8)
    #expect(try shop.deliver(body, at: Self.moment) == (200, "undecodable"))
    #expect(try shop.count("SELECT count(*) FROM billing.deliveries") == 1)
  }

  @Test func `one altered bit anywhere is refused`() throws {
    let shop = try Shop()
    let body = Self.genuine()
    for index in stride(from: 20, to: body.count - 3, by: body.count / 40) {
      var altered = body
      altered[index] ^= 1
      let answer = try shop.deliver(altered, at: Self.moment, from: "17.0.0.\(index % 200)")
      #expect(answer.status == 400 || answer.status == 403, "byte \(index): \(answer)")
    }
    #expect(try shop.count("SELECT count(*) FROM billing.deliveries") == 0)
  }

  @Test func `an address that forges by the hundred has to wait, others do not`() throws {
    let shop = try Shop()
    let routes = shop.routes
    shop.now = Self.moment
    let forged = Array(#"{"signedPayload":"a.b.c"}"#.utf8)
    var answers: Set<Int> = []
    for _ in 0..<300 {
      answers.insert(try shop.deliver(forged, from: "203.0.113.9", through: routes).status)
    }
    #expect(answers == [400, 429])
    let other = try shop.deliver(Self.genuine(), from: "17.0.0.1", through: routes)
    #expect(other == (200, "recorded"))
    // This machine's own address stands for a proxy, whose clients cannot be distinguished.
    for _ in 0..<300 {
      let answer = try shop.deliver(forged, from: "127.0.0.1", through: routes)
      #expect(answer.status == 400)
    }
  }

  @Test func `heads that came together do not get past the budget with their bodies`() throws {
    let shop = try Shop()
    let route = try #require(shop.routes.first { $0.pattern == "/webhooks/apple" })
    shop.now = Self.moment
    let head = RequestHead(
      method: "POST", target: "/webhooks/apple", headers: Headers([]), authority: "billing",
      remoteAddress: "203.0.113.9")
    let admissions = try (0..<300).map { _ in try route.admit(head, []).wait() }
    let answers = admissions.map { admission -> Int in
      do { return try admission.finish(Array("no json".utf8)).wait().status } catch {
        return problem(for: error, head).status
      }
    }
    #expect(answers.count { $0 == 429 } > 150)
  }

  @Test func `the same id with another meaning is recorded as a conflict, and both are merged`()
    throws
  {
    let shop = try Shop()
    let first = try shop.deliver(Self.genuine(), at: Self.moment)
    #expect(first == (200, "recorded"))
    let again = try shop.deliver(Self.genuine(), at: Self.moment)
    #expect(again == (200, "duplicate"))
    let other = AppleSample.notification(
      Self.id, AppleSample.transaction("3000", day: 0, signed: Self.moment), signed: Self.moment)
    let conflicting = try shop.deliver(other, at: Self.moment)
    #expect(conflicting == (200, "conflicting"))
    #expect(try shop.count("SELECT count(*) FROM billing.subscriptions") == 2)
  }
}
