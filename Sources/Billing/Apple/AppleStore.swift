package import Base
package import Compression
import Configuration
import Crypto
package import JSON
package import ProviderAPI
package import Stores
package import Subscriptions
package import Tiers

/// The App Store, as the ledger sees it.
package struct AppleStore: Store {
  package typealias Record = AppleRecord

  /// Nil if the App Store is off.
  private let verifier: AppleVerifier?
  /// Two servers, each asked for one app at a time. Empty if neither is ever asked.
  let apis: [StoreEnvironment: [AppleAPI]]

  package init() { self.init(verifier: nil) }

  package init(verifier: AppleVerifier?, apis: [StoreEnvironment: [AppleAPI]] = [:]) {
    self.verifier = verifier
    self.apis = apis
  }

  package init(
    _ configuration: AppleConfiguration, transport: any ProviderTransport, clock: Clock
  ) throws(StoreSetupError) {
    func judge(of apps: [AppleApp]) throws(StoreSetupError) -> AppleVerifier {
      let roots = configuration.root.map { [$0] } ?? [AppleRootCA.der]
      guard let trust = AppleTrust(roots: roots, apps: apps) else {
        throw StoreSetupError(
          "\(AppleConfiguration.Keys.bundleIDs.name) or \(AppleConfiguration.Keys.rootFile.name) cannot be used"
        )
      }
      return AppleVerifier(trust)
    }
    let verifier = try judge(of: configuration.apps)
    var apis: [StoreEnvironment: [AppleAPI]] = [:]
    if let api = configuration.api {
      for app in configuration.apps {
        guard
          let key = AppleAPIKey(
            keyID: api.keyID, issuerID: api.issuerID, bundleID: app.bundleID, pem: api.key)
        else {
          throw StoreSetupError(
            "\(AppleConfiguration.Keys.keyFile.name): holds no P-256 key in PEM")
        }
        // An answer for one app must not be about another.
        let own = try judge(of: [app])
        for (environment, base) in [(StoreEnvironment.live, api.url), (.sandbox, api.sandboxURL)] {
          apis[environment, default: []].append(
            AppleAPI(
              base: base, environment: environment, key: key, verifier: own, transport: transport,
              clock: clock))
        }
      }
    }
    self.init(verifier: verifier, apis: apis)
  }

  package let provider = ObjectKey.Provider.apple

  package var compressor: Compressor { Self.compressor }

  private static let compressor = Compressor(dictionaries: [PackageResources.apple_1_zdict])

  package var traits: StoreTraits {
    var traits = StoreTraits(
      title: "the App Store", shownBy: [.status, .renewal], kinds: [.subscription, .transaction])
    traits.orders = [.extend]
    traits.extensionDaysMax = 90
    traits.refundAnswerSpan = .hours(12)
    traits.orderAdvice = "the customer cancels, and asks for a refund, at Apple"
    // https://developer.apple.com/documentation/storekit/handling-subscriptions-billing
    traits.managePage = "https://apps.apple.com/account/subscriptions"
    traits.hasSuccessors = true
    traits.isReadOneByOne = true
    traits.unknownID = "1"
    traits.subscriptionIDForm = "a number of up to \(Self.idByteCountMax) digits"
    traits.confirmationCount = 1
    traits.notes = AppleNote.allCases.map(\.rawValue)
    return traits
  }

  private static let idByteCountMax = 20
  /// No other number that consists of digits only is this long.
  private static let numberByteCountMin = 8

  package func isSubscriptionID(_ text: String) -> Bool {
    1...Self.idByteCountMax ~= text.utf8.count
      && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// A transaction's id. The store finds the subscription by the id of any of its transactions.
  package func purchase(
    named number: String, in environment: StoreEnvironment
  ) -> NamedPurchase? {
    guard number.utf8.count >= Self.numberByteCountMin, isSubscriptionID(number) else { return nil }
    func key(_ kind: ObjectKey.Kind) -> ObjectKey {
      ObjectKey(provider: provider, environment: environment, kind: kind, id: number)
    }
    return NamedPurchase(object: key(.transaction), subscription: key(.subscription))
  }

  package var webhook: Webhook? { verifier.map { Webhook(appStore: $0) } }

  package var isReadable: Bool { !apis.isEmpty }

  package func read(_ request: StoreRead) throws(APIFailure) -> StoreAnswer {
    try asked(request.key.environment) { api throws(APIFailure) in
      try api.record(of: request.key.id)
    }
  }

  package func perform(
    _ order: StoreOrder, _ request: StoreRead, _ record: any StoreRecord
  ) throws(APIFailure) {
    guard case .extend(let days, let cause, let end) = order, let record = record as? AppleRecord
    else { throw .refused(status: 0, traits.orderAdvice) }
    try asked(request.key.environment) { api throws(APIFailure) in
      try api.extend(record.id, days: days, because: cause, knownEnd: end)
    }
  }

  package func answer(
    _ question: RefundQuestion, with evidence: RefundEvidence
  ) throws(APIFailure) {
    try asked(question.payment.environment) { api throws(APIFailure) in
      try api.tellConsumption(of: question.payment.id, evidence)
    }
  }

  static let withoutKey = APIFailure.misconfigured("there is no key of the App Store Server API")

  /// The answer of the app that knows the object. The other apps do not know it, so each is asked in turn. While
  /// the store refuses one app, its objects do not count as unknown.
  func asked<Answer>(
    _ environment: StoreEnvironment, _ ask: (AppleAPI) throws(APIFailure) -> Answer
  ) throws(APIFailure) -> Answer {
    guard let all = apis[environment], !all.isEmpty else { throw Self.withoutKey }
    var misconfigured: APIFailure?
    for api in all {
      do throws(APIFailure) { return try ask(api) } catch {
        switch error {
        case .notFound: break
        case .misconfigured: misconfigured = misconfigured ?? error
        case .refused, .gone, .transient, .malformed: throw error
        }
      }
    }
    throw misconfigured ?? APIFailure.notFound
  }

  package var certificates: [StoreCertificate] {
    X509Certificate(der: AppleRootCA.der).map {
      [StoreCertificate(name: "Apple Root CA - G3", notAfter: $0.notAfter)]
    } ?? []
  }

  package let claimMember: String? = "transaction"

  /// The purchase in a transaction that the App Store signed for our app.
  package func claimed(_ json: JSON, at now: Instant) throws -> ClaimedPurchase {
    guard let verifier else { throw json.failure("cannot be claimed") }
    let text = try json.requireString()
    let verified: VerifiedPart
    do throws(AppleRefusal) { verified = try verifier.verify(transaction: text, now: now) } catch {
      throw WebhookRefusal(error)
    }
    let reading: AppleTransactionReading
    do throws(UndecodableDelivery) { reading = try AppleTransactionReading(verified) } catch {
      throw error.error
    }
    guard reading.fact != nil else { throw WebhookRefusal.notASubscription }
    return ClaimedPurchase(
      subscription: reading.subscription,
      delivery: DecodedDelivery(
        reading, environment: verified.environment, signed: verified.signedDate),
      isProven: true)
  }
}

extension AppleObject: StoredObject {}
