import Apple
import Base
import Configuration
import KnownStores
import Stripe
import Testing
import Tiers

struct BillingConfigurationTests {
  static let complete = [
    "COFFER_DATABASE": "sqlite:///var/lib/coffer",
    "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  ]

  private func configuration(_ more: [String: String]) throws -> BillingConfiguration {
    try BillingConfiguration(Settings(.coffer, environment: Self.complete.merging(more) { $1 }))
  }

  private func problems(_ more: [String: String]) -> [String] {
    do throws(ConfigurationError) {
      _ = try BillingConfiguration(
        Settings(.coffer, environment: Self.complete.merging(more) { $1 }))
      return []
    } catch {
      return error.lines
    }
  }

  @Test func `without a signing secret Stripe is off`() throws {
    #expect(try configuration([:]).store(StripeConfiguration.self) == nil)
  }

  @Test func `the first of several signing secrets comes first`() throws {
    let stripe = try configuration(["COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_new, whsec_old"]).store(
      StripeConfiguration.self)
    #expect(
      stripe?.webhookSecrets.map(\.exposed) == [Array("whsec_new".utf8), Array("whsec_old".utf8)])
  }

  @Test(arguments: [
    ("sk_test_1", StoreEnvironment.sandbox), ("rk_test_1", .sandbox),
    ("sk_live_1", .live), ("rk_live_1", .live),
  ])
  func `the API key says which deliveries grant`(
    key: String, environment: StoreEnvironment
  ) throws {
    let stripe = try configuration([
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_x", "COFFER_STRIPE_API_KEY": key,
    ]).store(StripeConfiguration.self)
    #expect(stripe?.environment == environment)
  }

  @Test func `free days of a store that gives them by itself are refused`() throws {
    let plans = try ScratchFile(
      """
      {"version":"1","free":{"id":"free","title":"Free","bytes":1},"plans":[{"id":"premium",\
      "title":"Premium","bytes":2,"products":[{"provider":"apple","product":"p","price":"q",\
      "amount":1,"currency":"usd","interval":"month","trial_days":14}]}]}
      """)
    let lines = problems([
      "COFFER_PLANS": plans.path, "COFFER_APPLE_BUNDLE_ID": "com.example.notes",
    ])
    #expect(
      lines == [
        "COFFER_PLANS (environment): plan premium, product q: has trial_days, and its store gives free days by "
          + "itself"
      ])
  }

  @Test func `several apps are a list, each with its number in the same place`() throws {
    let apple = try configuration([
      "COFFER_APPLE_BUNDLE_ID": "com.example.notes, com.example.notes.mac",
      "COFFER_APPLE_APP_ID": "1234567890,99",
    ]).store(AppleConfiguration.self)
    #expect(
      apple?.apps == [
        AppleApp(bundleID: "com.example.notes", appAppleID: 1_234_567_890),
        AppleApp(bundleID: "com.example.notes.mac", appAppleID: 99),
      ])
  }

  @Test(arguments: [
    (
      ["a", "b"], ["1"],
      "COFFER_APPLE_APP_ID (environment): must name as many apps as COFFER_APPLE_BUNDLE_ID"
    ),
    (["a", "a"], [], "the list names the same thing twice"),
    (["a", ""], [], "the list has an empty part"),
    (["a", "b c"], [], "\"b c\" is no bundle id"), (["a"], ["x"], "\"x\" is no number"),
    ((1...17).map { "app\($0)" }, [], "names more than 16 apps"),
  ])
  func `a list of apps that is none is refused`(
    bundles: [String], numbers: [String], sentence: String
  ) {
    var settings = ["COFFER_APPLE_BUNDLE_ID": bundles.joined(separator: ",")]
    if !numbers.isEmpty { settings["COFFER_APPLE_APP_ID"] = numbers.joined(separator: ",") }
    let lines = problems(settings)
    #expect(lines.count == 1 && lines.first?.contains(sentence) == true, "\(lines)")
  }

  @Test func `without an API key live deliveries grant`() throws {
    let stripe = try configuration(["COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_x"]).store(
      StripeConfiguration.self)
    #expect(stripe?.environment == .live)
  }

  @Test func `an API key without a signing secret is half a configuration`() {
    #expect(problems(["COFFER_STRIPE_API_KEY": "sk_test_1"]).count == 1)
  }

  @Test(arguments: [
    ("COFFER_SEALING_KEYS", "AAECAwQFBgc="), ("COFFER_SEALING_KEYS", "hunter2hunter2"),
    ("COFFER_STRIPE_WEBHOOK_SECRETS", "hunter2hunter2"),
    ("COFFER_STRIPE_API_KEY", "hunter2hunter2"), ("COFFER_DATABASE", "mysql://hunter2hunter2"),
  ])
  func `no message repeats a secret`(key: String, value: String) {
    var environment = ["COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_x"]
    environment[key] = value
    let lines = problems(environment)
    #expect(lines.count == 1)
    #expect(!lines.joined().contains(value.suffix(8)))
  }

  @Test func `a configuration in a message hides its secrets`() throws {
    let stripe = try configuration([
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_hunter2",
      "COFFER_STRIPE_API_KEY": "sk_test_hunter2",
    ]).store(StripeConfiguration.self)
    #expect(!String(reflecting: stripe).contains("hunter2"))
  }

  @Test(arguments: [
    ("http://api.stripe.com", false), ("https://api.stripe.com/", false), ("stripe", false),
    ("http://127.0.0.1.example.com", false), ("http://127.0.0.1:12111", true),
    ("http://localhost", true), ("https://api.stripe.com", true), ("http://[::1]:1", true),
    ("http://127.0.0.1:x@evil.example", false), ("http://127.0.0.1:80@evil.example", false),
    ("http://localhost:@evil.example", false), ("http://localhost:80#@evil.example", false),
    ("https://user:secret@api.stripe.com", false), ("http://127.0.0.1:99999", false),
    ("http://127.0.0.1\\@evil.example", false), ("http://[::1]:80@evil.example", false),
    ("https://api.stripe.com?x", false), ("https://", false), ("HTTP://LOCALHOST:1", true),
    ("https://api.stripe.com/base", true), ("file://localhost", false),
  ])
  func `the API is asked over TLS unless it is on this machine`(url: String, accepted: Bool) {
    let lines = problems([
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_x", "COFFER_STRIPE_API_URL": url,
    ])
    #expect(lines.isEmpty == accepted)
  }

  @Test func `sync's settings in a shared file do not disturb billing`() {
    #expect(problems(["COFFER_SYNC_AUTHORITIES": "://"]) == [])
  }
}
