import Testing

/// The recorded first purchase, delivered by the command line, seen through the command line.
struct ExplainTests {
  private static let account = "fc76d63a-6f48-4e41-a9cf-64eab50e08b9"

  private let scratch: Scratch
  private let environment: [String: String]
  private let billing: Running

  init() throws {
    scratch = try Scratch()
    let port = Running.freePort()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Running.freePort())",
      "COFFER_PLANS": Self.webhooks + "/catalogue.json",
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_test",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ]
    try Scratch.write("1772445300000\n", to: scratch.path + "/clock")
    billing = try Running("coffer-billing", environment: environment, port: port)
    let created = try Finished(
      [
        "account", "create", "--id", Self.account, "--username", "ada", "--public-key",
        "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
      ], environment: environment)
    #expect(created.code == 0)
    let story = Self.webhooks + "/stripe/2025-03-31.basil/first-purchase/"
    for (second, delivery) in [
      (1_772_445_604, "01-checkout.session.completed.http"),
      (1_772_445_605, "02-customer.subscription.created.http"),
      (1_772_445_606, "03-invoice.paid.http"),
    ] {
      try Scratch.write("\(second)000\n", to: scratch.path + "/clock")
      let sent = try Finished(["webhook", "send", story + delivery], environment: environment)
      #expect(sent.out == "200\n{\"status\":\"recorded\"}\n")
    }
  }

  /// The repository's recorded deliveries.
  private static let webhooks: String = {
    let source = #filePath
    let root = source.ranges(of: "/Tests/").last.map { source[..<$0.lowerBound] } ?? ""
    return root + "/webhooks"
  }()

  @Test func `a purchase is explained down to the deliveries that say so`() throws {
    let text = try Finished(["entitlement", "explain", "ada"], environment: environment)
    try expectGolden(text.out, "explain")
    let json = try Finished(
      ["entitlement", "explain", Self.account, "--json"], environment: environment)
    try expectGolden(json.out, "explain-json")
  }

  @Test func `the list of accounts shows the cap that holds now`() throws {
    let paid = try Finished(["account", "list"], environment: environment)
    #expect(paid.out.contains("30 GB  premium  subscribed"))
    // 2026-04-03T12:00:00Z, when the leeway for the renewal is over.
    try Scratch.write("1775217600000\n", to: scratch.path + "/clock")
    let lapsed = try Finished(["account", "list"], environment: environment)
    #expect(lapsed.out.contains("1 MB  free  lapsed"))
  }
}
