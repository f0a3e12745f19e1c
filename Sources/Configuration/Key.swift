/// The name of a setting, as it stands in the environment or in the configuration file.
///
/// Each has a row in `documentation`, from which `--help` and the README's table are made.
package enum Key: String, Sendable, CaseIterable {
  case database = "COFFER_DATABASE"
  case objects = "COFFER_OBJECTS"
  case syncListen = "COFFER_SYNC_LISTEN"
  case syncAuthorities = "COFFER_SYNC_AUTHORITIES"
  case billingListen = "COFFER_BILLING_LISTEN"
  case metricsListen = "COFFER_METRICS_LISTEN"
  case trustedProxies = "COFFER_TRUSTED_PROXIES"
  case plans = "COFFER_PLANS"
  case sealingKeys = "COFFER_SEALING_KEYS"
  case stripeWebhookSecrets = "COFFER_STRIPE_WEBHOOK_SECRETS"
  case stripeAPIKey = "COFFER_STRIPE_API_KEY"
  case stripeAPIURL = "COFFER_STRIPE_API_URL"
  case mode = "COFFER_MODE"
  case testClock = "COFFER_TEST_CLOCK"
  case config = "COFFER_CONFIG"

  /// What every name begins with; a name that does and is not listed here stops the start.
  package static let prefix = "COFFER_"

  /// Whether the value must stay out of every message.
  package var isSecret: Bool {
    switch self {
    case .database, .sealingKeys, .stripeWebhookSecrets, .stripeAPIKey: true
    case .objects, .syncListen, .syncAuthorities, .billingListen, .metricsListen, .trustedProxies,
      .plans, .stripeAPIURL, .mode, .testClock, .config:
      false
    }
  }
}

/// What an operator must know about one setting.
package struct Documentation: Sendable {
  package let programs: [Program]
  package let fallback: Fallback
  package let text: String
  package let example: String

  /// What holds where the setting is absent.
  package enum Fallback: Sendable {
    case required
    /// Required by these programs, unused by the others.
    case requiredBy([Program])
    case value(String)
    /// Absence means something that is no value.
    case meaning(String)

    package var text: String {
      switch self {
      case .required: "required"
      case .requiredBy(let programs):
        "required by " + programs.map(\.rawValue).joined(separator: ", ")
      case .value(let value), .meaning(let value): value
      }
    }
  }
}

extension Key {
  package var documentation: Documentation {
    switch self {
    case .database:
      Documentation(
        programs: [.sync, .billing, .command], fallback: .required,
        text: "Where the rows live: a directory for SQLite, or a PostgreSQL server. "
          + "Both programs must name the same.",
        example: "sqlite:///var/lib/coffer")
    case .objects:
      Documentation(
        programs: [.sync], fallback: .requiredBy([.sync]),
        text: "Where document content above 16 KiB lives: a local directory.",
        example: "file:///var/lib/coffer/objects")
    case .syncListen:
      Documentation(
        programs: [.sync, .command], fallback: .value("127.0.0.1:8080"),
        text: "Address and port of the sync API.", example: "0.0.0.0:8080")
    case .syncAuthorities:
      Documentation(
        programs: [.sync, .command], fallback: .requiredBy([.sync]),
        text: "Comma list of the host names clients use, with the port unless it is the "
          + "scheme's own. A request signed for any other host is refused.",
        example: "sync.example.com")
    case .billingListen:
      Documentation(
        programs: [.billing, .command], fallback: .value("127.0.0.1:8081"),
        text: "Address and port of the webhooks' receiver.", example: "0.0.0.0:8081")
    case .metricsListen:
      Documentation(
        programs: [.sync, .billing],
        fallback: .meaning("127.0.0.1:9464 (coffer-sync), 127.0.0.1:9465 (coffer-billing)"),
        text: "Address and port of Prometheus metrics; loopback only. "
          + "Programs that share a configuration file must not share this.",
        example: "127.0.0.1:9464")
    case .trustedProxies:
      Documentation(
        programs: [.sync, .billing], fallback: .meaning("none"),
        text: "Comma list of addresses or networks whose X-Forwarded-For and "
          + "X-Forwarded-Proto are believed.",
        example: "127.0.0.1, 10.0.0.0/8")
    case .plans:
      Documentation(
        programs: [.sync, .billing, .command],
        fallback: .meaning("free 1 MB; premium 30 GB, no provider's products"),
        text: "Path of the catalogue of plans (JSON). Both programs must name the same.",
        example: "/etc/coffer/plans.json")
    case .sealingKeys:
      Documentation(
        programs: [.billing], fallback: .requiredBy([.billing]),
        text: "Comma list of 32-byte keys in base64 that seal kept deliveries; the first seals, "
          + "every one opens. Make one with: openssl rand -base64 32",
        example: "<openssl rand -base64 32>")
    case .stripeWebhookSecrets:
      Documentation(
        programs: [.billing, .command], fallback: .meaning("Stripe is off"),
        text: "Comma list of the endpoint's signing secrets; each is accepted, so that one can "
          + "be rotated.",
        example: "whsec_new, whsec_old")
    case .stripeAPIKey:
      Documentation(
        programs: [.billing], fallback: .meaning("none; live deliveries grant"),
        text: "Stripe API key. Its kind decides which deliveries grant storage: with sk_test_ or "
          + "rk_test_ those of test mode, with sk_live_ or rk_live_ those of live mode.",
        example: "rk_live_example")
    case .stripeAPIURL:
      Documentation(
        programs: [.billing], fallback: .value("https://api.stripe.com"),
        text: "Where Stripe's API answers. Plain http only to this machine.",
        example: "https://api.stripe.com")
    case .mode:
      Documentation(
        programs: [.sync, .billing, .command], fallback: .value("production"),
        text: "production, or test, which alone allows COFFER_TEST_CLOCK.", example: "production")
    case .testClock:
      Documentation(
        programs: [.sync, .billing, .command], fallback: .meaning("the machine's clock"),
        text: "Path of a file that holds the time in milliseconds since 1970; refused unless "
          + "COFFER_MODE=test.",
        example: "/tmp/coffer-clock")
    case .config:
      Documentation(
        programs: [.sync, .billing, .command], fallback: .meaning("environment only"),
        text: "Path of a file with these settings as KEY=value lines; the environment wins over "
          + "it. The option --config says the same and wins over both.",
        example: "/etc/coffer/coffer.env")
    }
  }
}
