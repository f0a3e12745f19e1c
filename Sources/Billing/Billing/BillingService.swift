package import Base
package import Configuration
package import Crypto
package import HTTPServer
package import Storage
package import Stripe
internal import Subscriptions

/// Everything that `coffer-billing` serves.
package struct BillingService: Sendable {
  private let database: Database
  private let ledger: Ledger
  private let sealing: SealingKeys
  private let clock: Clock
  private let stripe: WebhookSecrets?

  /// `stripe` is nil where that provider is not configured.
  package init(
    database: Database, rules: LedgerRules, sealing: SealingKeys, clock: Clock,
    stripe: WebhookSecrets?
  ) {
    self.database = database
    ledger = Ledger(rules: rules)
    self.sealing = sealing
    self.clock = clock
    self.stripe = stripe
  }

  /// A provider that is off keeps its place, says so to whoever calls, and once in the log.
  package func routes() -> [Route] {
    guard let stripe else {
      Log.info(
        "billing.provider_off",
        ["provider": "stripe", "why": "COFFER_STRIPE_WEBHOOK_SECRETS is not set"])
      return [AbsentProvider.route("stripe")]
    }
    let webhook = StripeWebhook(ledger: ledger, secrets: stripe, sealing: sealing, clock: clock)
    return [webhook.route(on: database)]
  }

  /// How many subscriptions one transaction derives again: few enough to delay nobody.
  private static let sliceCountMax = 200

  /// Brings everything derived under another policy or catalogue up to the present ones.
  ///
  /// Call at start, before serving; blocks until done. Returns how many subscriptions it derived.
  @discardableResult
  package func applyRules() throws -> Int {
    var total = 0
    while true {
      let now = clock.now()
      let count = try database.write(for: nil) { [ledger] transaction in
        try ledger.deriveOutdated(countMax: Self.sliceCountMax, at: now, in: transaction)
      }
      total += count
      if count < Self.sliceCountMax { return total }
    }
  }
}

extension BillingService {
  /// The service that the configuration describes.
  package init(_ configuration: BillingConfiguration, database: Database) {
    let partition: ObjectKey.Partition =
      switch configuration.stripe?.partition {
      case .live, nil: .live
      case .sandbox: .sandbox
      }
    self.init(
      database: database,
      rules: LedgerRules(catalogue: configuration.catalogue, grantingPartition: partition),
      sealing: configuration.sealingKeys, clock: configuration.clock,
      stripe: configuration.stripe.flatMap { WebhookSecrets($0.webhookSecrets) })
  }
}
