import Base
import RecordedStories
import Storage
import TestEngines

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

  /// `isKnown`: whether the purchase's account exists.
  init(isKnown: Bool = true, adding settings: [String: String] = [:]) throws {
    let running = try RunningBilling(
      at: Instant(seconds: 1_772_445_300),
      adding: [
        "COFFER_SEARCH_KEY": "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
      ].merging(settings) { $1 })
    (scratch, environment, billing) = (running.scratch, running.environment, running.program)
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
      try scratch.setClock(Instant(seconds: Int64(second)))
      _ = try coffer("webhook", "send", "\(RecordedStory.folder)/\(Self.story.name)/\(delivery)")
    }
  }

  func coffer(_ words: String..., without setting: String? = nil) throws -> Finished {
    var environment = environment
    if let setting { environment[setting] = nil }
    return try Finished(words, environment: environment)
  }

  /// Changes rows without the programs' knowledge.
  func write(_ statements: String..., owning schema: Schema = .billing) throws {
    try scratch.change(schema) { transaction in
      for statement in statements { try transaction.execute(statement) }
    }
  }
}
