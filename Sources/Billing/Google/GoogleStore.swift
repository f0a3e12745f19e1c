package import Base
package import Compression
import Configuration
package import JSON
package import ProviderAPI
package import Stores
package import Subscriptions
package import Tiers

/// Google Play, as the ledger sees it.
///
/// A purchase that is not acknowledged within three days is refunded and revoked. Operators are
/// alerted 24, 48 and 60 hours after a purchase that still is not.
package struct GoogleStore: Store {
  package typealias Record = GoogleRecord

  /// Nil if Google Play is off.
  private let verifier: GoogleVerifier?
  /// One for each app, the oldest first. Empty if none is ever asked.
  let apis: [GoogleAPI]

  package init() { self.init(verifier: nil, apis: []) }

  package init(verifier: GoogleVerifier?, apis: [GoogleAPI]) {
    self.verifier = verifier
    self.apis = apis
  }

  package init(
    _ configuration: GoogleConfiguration, transport: any ProviderTransport, clock: Clock
  ) throws(StoreSetupError) {
    guard let account = ServiceAccount(keyFile: configuration.serviceAccount) else {
      throw StoreSetupError(
        "\(GoogleConfiguration.Keys.serviceAccountFile.name): is no key file of a service account")
    }
    self.init(
      verifier: GoogleVerifier(
        GoogleTrust(
          packages: configuration.packages, audience: configuration.pushAudience,
          email: configuration.pushEmail),
        // Not behind the API's circuit breaker, whose failures say nothing about the key set.
        keys: PushKeys(
          url: configuration.keysURL, transport: CurlTransport(deadline: PushKeys.readDeadline),
          clock: clock)),
      apis: configuration.packages.enumerated().map { index, package in
        GoogleAPI(
          base: configuration.apiURL, package: package, isFurther: index > 0, account: account,
          transport: transport, clock: clock)
      })
  }

  package let provider = ObjectKey.Provider.google

  package var compressor: Compressor { Self.compressor }

  private static let compressor = Compressor(dictionaries: [PackageResources.google_1_zdict])

  package var traits: StoreTraits {
    var traits = StoreTraits(
      title: "Google Play", shownBy: [.purchase], kinds: [.purchase, .order])
    traits.subscriptionKind = .purchase
    // https://developer.android.com/google/play/billing/subscriptions#deep-link
    traits.managePage = "https://play.google.com/store/account/subscriptions"
    traits.hasSuccessors = true
    traits.hasClock = false
    traits.tellsPeriods = false
    traits.unknownID = "coffer-doctor"
    traits.subscriptionIDForm = "the SHA-256 of its token, 64 digits and letters from a to f"
    traits.confirmationCount = 1
    traits.announcesFirst = true
    traits.readsBySecret = true
    traits.isReadOneByOne = true
    // The current order and those before it, one of which may have been charged back.
    traits.partsRead = 3
    // Google forgets purchases sixty days after their end.
    traits.forgets = true
    traits.orders = [.stopRenewal, .end, .refund, .extend]
    traits.extensionDaysMax = 365
    traits.refundAnswerSpan = .hours(24)
    traits.refundsWholeOnly = true
    traits.refundsAtEnd = true
    traits.acknowledgementSpan = .days(3)
    traits.acknowledgementAlarmHours = [24, 48, 60]
    traits.notes = GoogleNote.allCases.map(\.rawValue)
    return traits
  }

  package func subscriptions(
    changedBy fact: Fact, _ links: any LinkReader
  ) throws -> [ObjectKey] {
    let purchase = fact.links.first { $0.kind == .part }?.target ?? fact.key
    // The purchase that it continues ends where it begins.
    return [purchase] + (try links.origins(of: .predecessor, to: purchase))
  }

  package func isSubscriptionID(_ text: String) -> Bool {
    text.utf8.count == 64
      && text.utf8.allSatisfy {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
      }
  }

  /// No other number is this long.
  private static let tokenByteCountMin = 60

  /// The purchase of a token.
  package func purchase(
    named number: String, in environment: StoreEnvironment
  ) -> NamedPurchase? {
    guard number.utf8.count >= Self.tokenByteCountMin, let token = PurchaseToken(number) else {
      return nil
    }
    return NamedPurchase(
      object: token.objectKey, subscription: token.objectKey, secret: token.secret)
  }

  /// An app knows a purchase by the token itself.
  package func keys(named text: String) -> [ObjectKey] {
    let ids = isID(text) ? [text, text.uppercased(), text.lowercased()] : []
    let named = ids.flatMap { id in
      traits.kinds.map { ObjectKey(provider: provider, environment: .live, kind: $0, id: id) }
    }
    return named + (PurchaseToken(text).map { [$0.objectKey] } ?? [])
  }

  package func terms(searchedBy text: String) -> [String] {
    [SearchTerm.normalized(Self.firstOrder(text))]
  }

  /// An order without its renewal number: `GPA.1-2-3..4` renews `GPA.1-2-3`.
  fileprivate static func firstOrder(_ id: String) -> String {
    id.split(separator: "..", maxSplits: 1).first.map(String.init) ?? id
  }

  package var webhook: Webhook? { verifier.map { Webhook(googlePlay: $0) } }

  package var isReadable: Bool { !apis.isEmpty }

  package func read(_ request: StoreRead) throws(APIFailure) -> StoreAnswer {
    let token = try token(of: request)
    let known = try request.readKnown()
    let prefix = ReadRequest.orderPrefix
    let newest = known.parts.prefix(traits.partsRead).map(\.id)
    let orders =
      known.reasons.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
      + newest
    return try asked(token.package) { api throws(APIFailure) in
      try api.read(
        token: token, readNumber: request.readNumber, orders: orders,
        without: request.isShallow ? Set(newest) : [])
    }
  }

  package func parts(named keys: [ObjectKey]) throws(APIFailure) -> [Fact] {
    guard let api = apis.first else { throw Self.withoutAccount }
    // One order of another package fails a whole batch, and no order names its package. What is
    // missing here is read with its purchase.
    return apis.count > 1 ? [] : try api.orders(keys.map(\.id))
  }

  package let claimMember: String? = "token"

  /// A token proves nothing except that it is worth a read.
  package func claimed(_ json: JSON, at now: Instant) throws -> ClaimedPurchase {
    let token = try json.requireToken()
    return ClaimedPurchase(
      subscription: token.objectKey, delivery: DecodedDelivery(claimed: token, at: now),
      isProven: false)
  }

  package func acknowledge(
    _ request: StoreRead, _ record: any StoreRecord, for owner: Identifier
  ) throws(APIFailure) {
    let token = try token(of: request)
    guard let record = record as? GoogleRecord,
      let product = record.purchase.contents.first?.items.first?.productID
    else { throw .malformed("the purchase has no product") }
    try asked(token.package) { api throws(APIFailure) in
      try api.acknowledge(token: token, productID: product, account: owner)
    }
  }

  package func perform(
    _ order: StoreOrder, _ request: StoreRead, _ record: any StoreRecord
  ) throws(APIFailure) {
    let token = try token(of: request)
    try asked(token.package) { api throws(APIFailure) in
      switch order {
      case .stopRenewal: try api.stopRenewal(token: token)
      case .end: try api.revoke(token: token)
      case .refund(let id, _, _): try api.refund(order: id)
      case .extend(let days, _, let end):
        try api.extend(token: token, by: .days(days), knownEnd: end)
      }
    }
  }

  /// No read looks at an older order by itself.
  package func readReason(after order: StoreOrder) -> String? {
    if case .refund(let id, _, _) = order { ReadRequest.orderPrefix + id } else { nil }
  }

  package func answer(
    _ question: RefundQuestion, with evidence: RefundEvidence
  ) throws(APIFailure) {
    guard let token = question.secret else { throw .malformed("the question has no token") }
    try asked(nil) { api throws(APIFailure) in
      try api.reviewRefund(order: question.payment.id, token: token, evidence)
    }
  }

  static let withoutAccount = APIFailure.misconfigured(
    "there is no service account of Google Play")

  /// The answer of the app that knows the object; the app of `package` is asked first, if that is known.
  ///
  /// Google does not document how it refuses objects of another app, so any refusal leads to the next app. The
  /// object may belong to an app that we may not read, so while there is one, nothing counts as unknown.
  private func asked<Answer>(
    _ package: String?, _ ask: (GoogleAPI) throws(APIFailure) -> Answer
  ) throws(APIFailure) -> Answer {
    var refusal: APIFailure?
    var misconfigured: APIFailure?
    // The oldest app has no qualifier, so it comes first if no package is known.
    let named = apis.filter { $0.qualifier == package }
    for api in named + apis.filter({ $0.qualifier != package }) {
      do throws(APIFailure) { return try ask(api) } catch {
        switch error {
        case .notFound, .refused: refusal = refusal ?? error
        case .misconfigured: misconfigured = misconfigured ?? error
        case .gone, .transient, .malformed: throw error
        }
      }
    }
    throw misconfigured ?? refusal ?? Self.withoutAccount
  }

  private func token(of request: StoreRead) throws(APIFailure) -> PurchaseToken {
    guard !apis.isEmpty else { throw Self.withoutAccount }
    guard let token = request.secret.flatMap({ PurchaseToken(secret: $0) }) else {
      throw .refused(status: 0, "the purchase's token was never delivered")
    }
    return token
  }
}

extension GoogleObject: StoredObject {}

extension [SearchTerm] {
  /// A purchase is found by its first order, which every renewal's order begins with.
  init(orders fact: Fact) {
    guard case .purchase(let purchase)? = fact.object.base as? GoogleObject else {
      self = []
      return
    }
    let orders = Set(
      purchase.items.compactMap { $0.latestOrderID }.map { GoogleStore.firstOrder($0) })
    self = orders.sorted().compactMap { SearchTerm($0, of: fact.key) }
  }
}
