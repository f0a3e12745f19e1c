import LocalServer
import Storage
import TestEngines
import TestFiles
import Testing

/// Reads of what Stripe never reported, and checks of what it reports at all.
struct StripeCheckTests {
  private let scratch: ScratchDirectory
  private let environment: [String: String]

  init() throws {
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": "sqlite://\(scratch.path)/database"]
    try scratch.database(of: .billing).close()
  }

  private func coffer(
    _ words: String..., settings: [String: String] = [:]
  ) throws -> Finished {
    try Finished(words, environment: environment.merging(settings) { $1 })
  }

  private static let stripe = [
    "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_1", "COFFER_STRIPE_API_KEY": "rk_live_1",
  ]

  @Test(arguments: ["sub_9", "stripe:live:subscription:sub_9"])
  func `a subscription that was never heard of is read`(name: String) throws {
    let finished = try coffer("subscription", "read", name, settings: Self.stripe)
    #expect(finished.code == 0)
    let jobs = try coffer("jobs", "list").out
    #expect(jobs.contains("stripe:live:subscription:sub_9"))
    #expect(jobs.contains("waiting"))
  }

  @Test func `without a key of its store nothing is asked, and the line says so`() throws {
    let finished = try coffer("subscription", "read", "sub_9")
    #expect(finished.code == 1)
    #expect(finished.errors.contains("stripe cannot be queried: no key of its API is configured"))
    #expect(try !coffer("jobs", "list").out.contains("sub_9"))
  }

  @Test func `a purchase of Google's that nobody told of cannot be read`() throws {
    let finished = try coffer(
      "subscription", "read", "google:live:purchase:\(String(repeating: "ab", count: 32))",
      settings: ["COFFER_GOOGLE_PACKAGE": "com.example.coffer"])
    #expect(finished.code == 1)
    #expect(finished.errors.contains("let the app post the purchase again"))
  }

  @Test func `a purchase of Google's that nobody told of is read by its token, which no row tells`()
    throws
  {
    let token = "kdmnpq" + String(repeating: "x", count: 80) + ".AO-J1Oz"
    let google = ["COFFER_GOOGLE_PACKAGE": "com.example.coffer"]
    let unsealed = try coffer("subscription", "read", token, settings: google)
    #expect(unsealed.code == 78)
    #expect(!unsealed.errors.contains(token))
    let sealed = google.merging([
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    ]) { $1 }
    let finished = try coffer("subscription", "read", token, settings: sealed)
    #expect(finished.code == 0, "\(finished.errors)")
    #expect(try coffer("jobs", "list").out.contains("google:live:purchase:"))
    for answer in [finished, try coffer("jobs", "list"), try coffer("audit", "list", "--json")] {
      #expect(!(answer.out + answer.errors).contains(token))
    }
  }

  @Test func `an invoice of which nothing is known asks for the subscription that it is of`() throws
  {
    let finished = try coffer("subscription", "read", "CHoJbcsDV3rVE1tsgvgiTP")
    #expect(finished.code == 1)
    #expect(
      finished.errors.hasSuffix(
        "there is no record of btcpay:live:prepaid_invoice:CHoJbcsDV3rVE1tsgvgiTP: name its "
          + "subscription\n"))
  }

  @Test func `the document on stores lists the needed event types`() throws {
    let source = #filePath
    let root = try #require(source.ranges(of: "/Tests/").last.map { source[..<$0.lowerBound] })
    let page = try #require(Files.text("\(root)/docs/stores.md"))
    let mark = "<!-- stripe event types -->\n```\n"
    let start = try #require(page.firstRange(of: mark)).upperBound
    let end = try #require(page[start...].firstRange(of: "```")).lowerBound
    let shown = try coffer(
      "config", "--check-stripe", settings: ["COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_1"]
    ).out.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { $0.dropFirst(2) }
    #expect(page[start..<end].split(separator: "\n") == shown)
  }

  @Test func `the needed event types are listed where nothing can be compared`() throws {
    let keyless = try coffer(
      "config", "--check-stripe", settings: ["COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_1"])
    #expect(keyless.code == 1)
    #expect(keyless.out.contains("  invoice.paid\n"))
    #expect(keyless.out.contains("not compared: no API key is configured"))
    let silent = Self.stripe.merging(
      ["COFFER_STRIPE_API_URL": "http://127.0.0.1:\(Ports.free())"]) { $1 }
    let unreachable = try coffer("config", "--check-stripe", settings: silent)
    #expect(unreachable.code == 69)
    #expect(unreachable.out.contains("not compared: Stripe does not answer"))
  }
}
