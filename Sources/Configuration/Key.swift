/// The name of a setting, as it stands in the environment or in the configuration file.
///
/// Each has a row in `documentation`, from which `--help` and docs/settings.md are made.
package enum Key: String, Sendable, CaseIterable {
  case database = "COFFER_DATABASE"
  case objects = "COFFER_OBJECTS"
  case syncListen = "COFFER_SYNC_LISTEN"
  case syncAuthorities = "COFFER_SYNC_AUTHORITIES"
  case registration = "COFFER_REGISTRATION"
  case accountsPerAddress = "COFFER_ACCOUNTS_PER_ADDRESS"
  case recordsMax = "COFFER_RECORDS_MAX"
  case requestsBurst = "COFFER_REQUESTS_BURST"
  case requestsPerSecond = "COFFER_REQUESTS_PER_SECOND"
  case deletedDays = "COFFER_DELETED_DAYS"
  case youngDays = "COFFER_YOUNG_DAYS"
  case openInvitations = "COFFER_OPEN_INVITATIONS"
  case dailyInvitations = "COFFER_DAILY_INVITATIONS"
  case receivedInvitations = "COFFER_RECEIVED_INVITATIONS"
  case billingListen = "COFFER_BILLING_LISTEN"
  case metricsListen = "COFFER_METRICS_LISTEN"
  case trustedProxies = "COFFER_TRUSTED_PROXIES"
  case connectionsPerAddress = "COFFER_CONNECTIONS_PER_ADDRESS"
  case plans = "COFFER_PLANS"
  case sealingKeys = "COFFER_SEALING_KEYS"
  case stripeWebhookSecrets = "COFFER_STRIPE_WEBHOOK_SECRETS"
  case stripeAPIKey = "COFFER_STRIPE_API_KEY"
  case stripeAPIURL = "COFFER_STRIPE_API_URL"
  case appleBundleID = "COFFER_APPLE_BUNDLE_ID"
  case appleAppID = "COFFER_APPLE_APP_ID"
  case appleIssuerID = "COFFER_APPLE_ISSUER_ID"
  case appleKeyID = "COFFER_APPLE_KEY_ID"
  case appleKeyFile = "COFFER_APPLE_KEY_FILE"
  case appleAPIURL = "COFFER_APPLE_API_URL"
  case appleSandboxAPIURL = "COFFER_APPLE_SANDBOX_API_URL"
  case appleRootFile = "COFFER_APPLE_ROOT_FILE"
  case googlePackage = "COFFER_GOOGLE_PACKAGE"
  case googlePushAudience = "COFFER_GOOGLE_PUSH_AUDIENCE"
  case googlePushEmail = "COFFER_GOOGLE_PUSH_EMAIL"
  case googleServiceAccountFile = "COFFER_GOOGLE_SERVICE_ACCOUNT_FILE"
  case googleAPIURL = "COFFER_GOOGLE_API_URL"
  case googleKeysURL = "COFFER_GOOGLE_KEYS_URL"
  case billingAuthorities = "COFFER_BILLING_AUTHORITIES"
  case sandboxAccounts = "COFFER_SANDBOX_ACCOUNTS"
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
      .connectionsPerAddress,
      .plans, .stripeAPIURL, .appleBundleID, .appleAppID, .appleIssuerID, .appleKeyID,
      .appleKeyFile, .appleAPIURL, .appleSandboxAPIURL, .appleRootFile, .googlePackage,
      .googlePushAudience, .googlePushEmail, .googleServiceAccountFile, .googleAPIURL,
      .googleKeysURL, .billingAuthorities, .sandboxAccounts, .mode, .testClock, .config,
      .recordsMax, .requestsBurst, .requestsPerSecond, .deletedDays, .youngDays,
      .openInvitations, .dailyInvitations, .receivedInvitations, .registration, .accountsPerAddress:
      false
    }
  }
}

extension Key {
  /// Whether this value must stay out of every message. A database's place is secret only where it may
  /// hold a password.
  package func isSecret(_ text: String) -> Bool {
    guard self == .database else { return isSecret }
    return text.contains("@") || text.contains("%") || text.contains("password")
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
    case .registration:
      Documentation(
        programs: [.sync], fallback: .value("open"),
        text: "Who may open an account: open is everybody; invite, whoever has a code made by "
          + "coffer invite create; closed, nobody but coffer account create.",
        example: "invite")
    case .accountsPerAddress:
      Documentation(
        programs: [.sync], fallback: .value("30"),
        text:
          "How many accounts one address (of IPv6, one network of 64 bits) may ask for at once, "
          + "of each coffer-sync; as many come back within a day. Name your proxies, or all "
          + "clients have one address; where none are named, this machine's own is not counted.",
        example: "30")
    case .recordsMax:
      Documentation(
        programs: [.sync], fallback: .value("2000000"),
        text: "How many live files and folders one account may own.", example: "2000000")
    case .requestsBurst:
      Documentation(
        programs: [.sync], fallback: .value("2000"),
        text: "How many requests an account may make at once, of each coffer-sync; further ones "
          + "are answered 429.",
        example: "2000")
    case .requestsPerSecond:
      Documentation(
        programs: [.sync], fallback: .value("50"),
        text: "How many requests a second an account gets back after a burst.", example: "50")
    case .deletedDays:
      Documentation(
        programs: [.sync], fallback: .value("90"),
        text: "How many days deleted files are told of; a device that was away for longer "
          + "fetches everything again.",
        example: "90")
    case .youngDays:
      Documentation(
        programs: [.sync], fallback: .value("7"),
        text: "How many days an account counts as young. Young accounts, and those on the free "
          + "plan, invite only so many strangers to share.",
        example: "7")
    case .openInvitations:
      Documentation(
        programs: [.sync], fallback: .value("20"),
        text: "How many invitations of strangers such an account may have unanswered; those of "
          + "accounts that share with it already do not count.",
        example: "20")
    case .dailyInvitations:
      Documentation(
        programs: [.sync], fallback: .value("20"),
        text: "How many strangers such an account may invite in a day (UTC).", example: "20")
    case .receivedInvitations:
      Documentation(
        programs: [.sync], fallback: .value("30"),
        text: "How many invitations of such accounts somebody who is a stranger to them may have "
          + "unanswered, and get in a day (UTC).",
        example: "30")
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
    case .connectionsPerAddress:
      Documentation(
        programs: [.sync, .billing], fallback: .value("256"),
        text: "How many connections one address, or one IPv6 network of 64 bits, may have open; "
          + "trusted proxies are exempt.",
        example: "256")
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
        programs: [.billing, .command], fallback: .meaning("none; live deliveries grant"),
        text: "Stripe API key. Its kind decides which deliveries grant storage: with sk_test_ or "
          + "rk_test_ those of test mode, with sk_live_ or rk_live_ those of live mode.",
        example: "rk_live_example")
    case .stripeAPIURL:
      Documentation(
        programs: [.billing, .command], fallback: .value("https://api.stripe.com"),
        text: "Where Stripe's API answers. Plain http only to this machine.",
        example: "https://api.stripe.com")
    case .appleBundleID:
      Documentation(
        programs: [.billing], fallback: .meaning("the App Store is off"),
        text: "The app's bundle id; notifications for any other are refused.",
        example: "com.example.coffer")
    case .appleAppID:
      Documentation(
        programs: [.billing], fallback: .meaning("only sandbox notifications are taken"),
        text: "The app's Apple ID, a number; production notifications must name it.",
        example: "1234567890")
    case .appleIssuerID:
      Documentation(
        programs: [.billing, .command], fallback: .meaning("the App Store is never asked"),
        text: "Issuer id of the App Store Server API's keys (App Store Connect, Integrations).",
        example: "57246542-96fe-1a63-e053-0824d011072a")
    case .appleKeyID:
      Documentation(
        programs: [.billing], fallback: .meaning("the App Store is never asked"),
        text: "Id of the In-App Purchase key.", example: "2X9R4HXF34")
    case .appleKeyFile:
      Documentation(
        programs: [.billing], fallback: .meaning("the App Store is never asked"),
        text: "Path of that key, the .p8 file as downloaded.",
        example: "/etc/coffer/SubscriptionKey_2X9R4HXF34.p8")
    case .appleAPIURL:
      Documentation(
        programs: [.billing], fallback: .value("https://api.storekit.apple.com"),
        text: "Where the App Store Server API answers. Plain http only to this machine.",
        example: "https://api.storekit.apple.com")
    case .appleSandboxAPIURL:
      Documentation(
        programs: [.billing], fallback: .value("https://api.storekit-sandbox.apple.com"),
        text: "Where its sandbox answers.",
        example: "https://api.storekit-sandbox.apple.com")
    case .appleRootFile:
      Documentation(
        programs: [.billing], fallback: .meaning("Apple Root CA - G3, which is built in"),
        text: "Path of the root certificate (DER) that signatures must lead to; refused unless "
          + "COFFER_MODE=test.",
        example: "/tmp/coffer-root.der")
    case .googlePackage:
      Documentation(
        programs: [.billing, .command], fallback: .meaning("Google Play is off"),
        text: "The app's package name; notifications for any other are kept and ignored.",
        example: "com.example.coffer")
    case .googlePushAudience:
      Documentation(
        programs: [.billing], fallback: .meaning("required with COFFER_GOOGLE_PACKAGE"),
        text: "Audience of the push subscription's tokens, exactly as set at Pub/Sub.",
        example: "https://billing.example.com/webhooks/google")
    case .googlePushEmail:
      Documentation(
        programs: [.billing], fallback: .meaning("required with COFFER_GOOGLE_PACKAGE"),
        text: "E-mail of the service account that the push subscription signs as.",
        example: "push@example.iam.gserviceaccount.com")
    case .googleServiceAccountFile:
      Documentation(
        programs: [.billing], fallback: .meaning("required with COFFER_GOOGLE_PACKAGE"),
        text: "Path of the JSON key of the service account that may read purchases; its token_uri "
          + "is where tokens come from.",
        example: "/etc/coffer/play.json")
    case .googleAPIURL:
      Documentation(
        programs: [.billing], fallback: .value("https://androidpublisher.googleapis.com"),
        text: "Where the Google Play Developer API answers. Plain http only to this machine.",
        example: "https://androidpublisher.googleapis.com")
    case .googleKeysURL:
      Documentation(
        programs: [.billing], fallback: .value("https://www.googleapis.com/oauth2/v3/certs"),
        text: "Where the keys are that push tokens are signed with. Plain http only to this "
          + "machine.",
        example: "https://www.googleapis.com/oauth2/v3/certs")
    case .billingAuthorities:
      Documentation(
        programs: [.billing, .command], fallback: .meaning("clients cannot claim purchases"),
        text: "Comma list of the host names under which clients claim purchases, with the port "
          + "unless it is the scheme's own. A request signed for any other host is refused.",
        example: "billing.example.com")
    case .sandboxAccounts:
      Documentation(
        programs: [.billing, .command], fallback: .meaning("none"),
        text: "Comma list of the accounts of testers and reviewers, for whom sandbox purchases "
          + "count as well.",
        example: "0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a01")
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
