import Base
import LocalServer
import RecordedStories
import Storage
import TestEngines
import TestFiles

/// The recorded first purchase, delivered by the command line to a running coffer-billing.
struct FirstPurchase {
  static let story = RecordedStory.all.first {
    $0.name == "stripe/2025-03-31.basil/first-purchase"
  }!
  static let account = story.account.description
  static let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
  static let subscription = story.key(of: story.subscriptions[0])
  static let address = "customer-2@example.com"
  static let paid = "evt_1cntn2Lk4QzTmRvXcE0wKw7X"

  let scratch: ScratchDirectory
  let environment: [String: String]
  let billing: Running

  /// `isKnown` where the account that it is for exists.
  init(isKnown: Bool = true) throws {
    scratch = try ScratchDirectory()
    let port = Ports.free()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
      "COFFER_PLANS": RecordedStory.cataloguePath,
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_SEARCH_KEY": "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=",
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_test",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ]
    try Files.write("1772445300000\n", to: scratch.path + "/clock")
    billing = try Running("coffer-billing", environment: environment, port: port)
    if isKnown {
      _ = try coffer(
        "account", "create", "--id", Self.account, "--username", "ada", "--public-key", Self.key)
    } else {
      _ = try coffer("migrate")
    }
    for (second, delivery) in [
      (1_772_445_604, "02-checkout.session.completed.http"),
      (1_772_445_605, "03-customer.subscription.created.http"),
      (1_772_445_606, "04-invoice.paid.http"),
    ] {
      try Files.write("\(second)000\n", to: scratch.path + "/clock")
      _ = try coffer("webhook", "send", "\(RecordedStory.folder)/\(Self.story.name)/\(delivery)")
    }
  }

  func coffer(_ words: String..., without setting: String? = nil) throws -> Finished {
    var environment = environment
    if let setting { environment[setting] = nil }
    return try Finished(words, environment: environment)
  }

  /// Changes rows behind the programs' backs.
  func write(_ statements: String..., owning schema: Schema = .billing) throws {
    let database = try Database.open(
      .sqlite(directory: scratch.path + "/database"), owning: schema)
    defer { database.close() }
    try database.write(for: nil) { transaction in
      for statement in statements { try transaction.execute(statement) }
    }
  }
}
