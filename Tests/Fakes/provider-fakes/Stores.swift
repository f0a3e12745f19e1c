import Base
import Crypto
import JSON
import ProviderFakes
import TestCertificates

/// The fake stores on one clock, and the files with which a billing server trusts them.
struct Stores: Sendable {
  let clock: FakeClock
  let apple: FakeAppStore
  let google: FakePlayStore
  let stripe: FakeStripe
  let btcpay: FakeBTCPay
  /// By name, for the caller's directory.
  let trust: [String: [UInt8]]

  /// Stores that will answer at `base`, `http://127.0.0.1:<port>`, with new keys.
  init(base: String, start: Instant, directory: String) {
    clock = FakeClock(start)
    let chain = AppleTestChain(notBefore: start - .days(3650), notAfter: start + .days(7300))
    let appleKey = P256PrivateKey()
    var apple = FakeAppStore.Settings()
    apple.apiKey = appleKey.publicKey
    apple.seed = UInt64(start.milliseconds)
    self.apple = FakeAppStore(clock: clock, signer: AppleSigner(chain), settings: apple)
    let issuer = GoogleIssuer(keys: [RSAPrivateKey()])
    let serviceKey = RSAPrivateKey()
    var google = FakePlayStore.Settings()
    google.serviceKey = serviceKey.publicKey
    google.tokenAudience = base + "/token"
    google.seed = UInt64(start.milliseconds)
    self.google = FakePlayStore(clock: clock, issuer: issuer, settings: google)
    var stripe = StripeSettings()
    stripe.seed = "provider-fakes/\(start.milliseconds)"
    self.stripe = FakeStripe(clock, stripe)
    var btcpay = FakeBTCPay.Settings()
    btcpay.seed = UInt64(start.milliseconds)
    self.btcpay = FakeBTCPay(clock: clock, settings: btcpay)
    let account: JSONValue = [
      "type": "service_account", "project_id": "coffer-app",
      "private_key_id": .string(GoogleIssuer.keyID(serviceKey.publicKey)),
      "private_key": .string(String(decoding: serviceKey.pem.exposed, as: UTF8.self)),
      "client_email": .string(google.serviceEmail), "token_uri": .string(google.tokenAudience),
    ]
    var settings = Self.shared(base, directory)
    settings += Self.apple(apple, base, directory)
    settings += Self.google(google, base, directory)
    settings += [
      ("COFFER_STRIPE_WEBHOOK_SECRETS", Self.text(self.stripe.secrets[0])),
      ("COFFER_STRIPE_API_KEY", Self.text(self.stripe.key)), ("COFFER_STRIPE_API_URL", base),
      ("COFFER_STRIPE_RETURN_URLS", "https://app.example"),
      ("COFFER_STRIPE_MIGRATE_FROM", "apple, google"),
    ]
    settings += Self.btcpay(btcpay, base)
    trust = [
      "apple-root.der": chain.root.der,
      "apple-root.pem": PEM.certificate(chain.root.der),
      "SubscriptionKey_\(apple.apiKeyID).p8": appleKey.pem.exposed,
      "google-service-account.json": GoogleText.pretty(account),
      "google-keys.json": GoogleText.pretty(issuer.keySet),
      "coffer.env": Array(settings.map { "\($0)=\($1)\n" }.joined().utf8),
    ]
  }

  private static func shared(_ base: String, _ directory: String) -> [(String, String)] {
    [("COFFER_MODE", "test"), ("COFFER_TEST_CLOCK", directory + "/clock")]
  }

  private static func apple(
    _ settings: FakeAppStore.Settings, _ base: String, _ directory: String
  ) -> [(String, String)] {
    [
      ("COFFER_APPLE_BUNDLE_ID", settings.bundleID),
      ("COFFER_APPLE_APP_ID", String(settings.appAppleID)),
      ("COFFER_APPLE_ISSUER_ID", settings.apiIssuerID),
      ("COFFER_APPLE_KEY_ID", settings.apiKeyID),
      ("COFFER_APPLE_KEY_FILE", "\(directory)/SubscriptionKey_\(settings.apiKeyID).p8"),
      ("COFFER_APPLE_API_URL", base), ("COFFER_APPLE_SANDBOX_API_URL", base),
      ("COFFER_APPLE_ROOT_FILE", directory + "/apple-root.der"),
    ]
  }

  private static func google(
    _ settings: FakePlayStore.Settings, _ base: String, _ directory: String
  ) -> [(String, String)] {
    [
      ("COFFER_GOOGLE_PACKAGE", settings.packageName),
      ("COFFER_GOOGLE_PUSH_AUDIENCE", settings.audience),
      ("COFFER_GOOGLE_PUSH_EMAIL", settings.pushEmail),
      ("COFFER_GOOGLE_SERVICE_ACCOUNT_FILE", directory + "/google-service-account.json"),
      ("COFFER_GOOGLE_API_URL", base), ("COFFER_GOOGLE_KEYS_URL", base + "/oauth2/v3/certs"),
    ]
  }

  private static func btcpay(
    _ settings: FakeBTCPay.Settings, _ base: String
  ) -> [(String, String)] {
    [
      ("COFFER_BTCPAY_URL", base), ("COFFER_BTCPAY_STORE_ID", settings.storeID),
      ("COFFER_BTCPAY_API_KEY", text(settings.apiKey)),
      ("COFFER_BTCPAY_WEBHOOK_SECRETS", text(settings.secret)),
    ]
  }

  private static func text(_ secret: Secret) -> String {
    String(decoding: secret.exposed, as: UTF8.self)
  }

  // MARK: the truth

  /// All sales, and the periods in which the stores keep access without payment.
  var truth: JSONValue {
    var rows: [JSONValue] = []
    for truth in apple.truths {
      let id = truth.originalTransactionID
      rows += truth.paid.map {
        Self.row("apple", id, truth.account, $0.productID, $0.from, $0.to, isGrace: false)
      }
      rows += truth.graces.map {
        Self.row("apple", id, truth.account, $0.productID, $0.from, $0.to, isGrace: true)
      }
    }
    for truth in google.truths {
      rows += (truth.paid + truth.chargedBack).map {
        Self.row("google", truth.token, truth.account, $0.productID, $0.from, $0.to, isGrace: false)
      }
      rows += truth.graces.map {
        Self.row("google", truth.token, truth.account, $0.productID, $0.from, $0.to, isGrace: true)
      }
    }
    rows += stripe.sales(asOf: clock.now).map {
      Self.row("stripe", $0.subscription, $0.account, $0.product, $0.from, $0.to, isGrace: false)
    }
    for account in btcpay.accounts {
      rows += btcpay.truths(of: account).map {
        Self.row(
          "btcpay", $0.invoice, account, $0.product.itemCode, $0.from, $0.to, isGrace: false)
      }
    }
    return ["now": .string(clock.now.description), "periods": .array(rows)]
  }

  private static func row(
    _ provider: String, _ subscription: String, _ account: Identifier?, _ product: String,
    _ from: Instant, _ to: Instant, isGrace: Bool
  ) -> JSONValue {
    [
      "provider": .string(provider), "subscription": .string(subscription),
      "account": account.map { .string($0.description) } ?? .null, "product": .string(product),
      "from": .string(from.description), "to": .string(to.description), "grace": .bool(isGrace),
    ]
  }
}

enum PEM {
  static func certificate(_ der: [UInt8]) -> [UInt8] {
    var text = "-----BEGIN CERTIFICATE-----\n"
    var rest = Base64.standard.encode(der)[...]
    while !rest.isEmpty {
      text += rest.prefix(64) + "\n"
      rest = rest.dropFirst(64)
    }
    return Array((text + "-----END CERTIFICATE-----\n").utf8)
  }
}
