package import Base
package import Compression
package import ProviderAPI
package import Stores
package import Subscriptions
import Tiers

/// Stripe Billing, as the ledger sees it.
package struct StripeStore: Store {
  package typealias Record = StripeRecord

  /// Nil if Stripe is off.
  private let secrets: WebhookSecrets?
  /// Nil if its API is never asked.
  package let api: StripeAPI?
  package let buying: StripeBuying

  package init() { self.init(secrets: nil) }

  package init(
    secrets: WebhookSecrets?, api: StripeAPI? = nil, buying: StripeBuying = StripeBuying()
  ) {
    self.secrets = secrets
    self.api = api
    self.buying = buying
  }

  /// The store as configured.
  package init(
    _ configuration: StripeConfiguration, transport: any ProviderTransport, clock: Clock
  ) {
    self.init(
      secrets: WebhookSecrets(configuration.webhookSecrets),
      api: configuration.apiKey.map { key in
        StripeAPI(
          base: configuration.apiURL, key: key, environment: configuration.environment,
          transport: transport)
      }, buying: configuration.buying)
  }

  package let provider = ObjectKey.Provider.stripe

  package var compressor: Compressor { Self.compressor }

  private static let compressor = Compressor(dictionaries: [PackageResources.stripe_1_zdict])

  /// Moving a billing date at Stripe would invoice the use until then. A grant gives time, too.
  static let extensionAdvice = "give the time by coffer entitlement grant"

  package var traits: StoreTraits {
    var traits = StoreTraits(
      title: "Stripe",
      kinds: [
        .subscription, .customer, .invoice, .charge, .payment, .invoicePayment, .refund, .dispute,
        .checkoutSession,
      ])
    traits.subscriptionIDPrefix = Self.idPrefix
    traits.subscriptionIDForm = "\(Self.idPrefix) and letters, digits or _"
    traits.unknownID = "sub_coffer_doctor"
    traits.hasOneEnvironment = true
    traits.orders = [.stopRenewal, .end, .refund]
    traits.endsUnpaidAtOnce = true
    traits.orderAdvice = Self.extensionAdvice
    traits.isManagedHere = api != nil
    traits.takesOver = buying.migratable
    traits.notes = StripeEvent.Note.allCases.map(\.rawValue)
    return traits
  }

  private static let idPrefix = "sub_"

  package func isSubscriptionID(_ text: String) -> Bool { isStripeID(text, Self.idPrefix) }

  /// Follows a reversal to its payment, a payment to its invoice, and an invoice to its subscription.
  package func subscriptions(
    changedBy fact: Fact, _ links: any LinkReader
  ) throws -> [ObjectKey] {
    switch fact.key.kind {
    case .subscription: return [fact.key]
    case .customer:
      return try links.origins(of: .part, to: fact.key).filter { $0.kind == .subscription }
    default:
      let named = fact.links.filter { $0.origin == fact.key }.map { $0.target }
      let invoices = try named.filter { $0.kind == .invoice || $0.kind == .payment }
        .flatMap { try links.bridged(to: $0) }.filter { $0.key.kind == .invoice }
      return (named + invoices.flatMap { $0.links.map { $0.target } })
        .filter { $0.kind == .subscription }
    }
  }

  package var webhook: Webhook? { secrets.map { Webhook(stripe: $0) } }

  package var isReadable: Bool { api != nil }

  package func read(_ request: StoreRead) throws(APIFailure) -> StoreAnswer {
    try reach(request).records(about: request.key)
  }

  package func perform(
    _ order: StoreOrder, _ request: StoreRead, _ record: any StoreRecord
  ) throws(APIFailure) {
    guard let record = record as? StripeRecord else {
      preconditionFailure("the record is another store's")
    }
    try reach(request).perform(order, on: request.key.id, record)
  }

  private func reach(_ request: StoreRead) throws(APIFailure) -> StripeAPI {
    let environment = request.key.environment
    guard let api, api.environment == environment else {
      throw .misconfigured("there is no Stripe key of the \(environment.rawValue) environment")
    }
    return api
  }
}

extension StripeObject: StoredObject {}
