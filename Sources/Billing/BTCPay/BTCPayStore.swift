package import Base
package import Compression
package import ProviderAPI
package import Stores
package import Subscriptions
package import Tiers

/// A BTCPay server, as the ledger sees it.
///
/// Everything that one account prepaid there is one subscription of ours. Any report about it causes a read of
/// all its invoices.
package struct BTCPayStore: Store {
  package typealias Record = BTCPayRecord

  /// Nil if it is off.
  private let secrets: BTCPaySecrets?
  let api: BTCPayAPI?

  package init() { self.init(secrets: nil, api: nil) }

  package init(secrets: BTCPaySecrets?, api: BTCPayAPI?) {
    self.secrets = secrets
    self.api = api
  }

  package init(
    _ configuration: BTCPayConfiguration, transport: any ProviderTransport, clock: Clock
  ) {
    self.init(
      secrets: BTCPaySecrets(configuration.webhookSecrets),
      api: BTCPayAPI(
        base: configuration.url, store: configuration.storeID, key: configuration.apiKey,
        transport: transport))
  }

  package let provider = ObjectKey.Provider.btcpay

  package var compressor: Compressor { Self.compressor }

  private static let compressor = Compressor(dictionaries: [PackageResources.btcpay_1_zdict])

  package var traits: StoreTraits {
    var traits = StoreTraits(
      title: "the BTCPay server", shownBy: [], kinds: [.prepaid, .prepaidInvoice, .settlement])
    traits.subscriptionKind = .prepaid
    traits.orderAdvice = "nothing renews; refund an invoice on its page at the BTCPay server"
    traits.hasClock = false
    traits.isPrepaid = true
    traits.isNamedByAccount = true
    traits.deliveriesNameWebhook = true
    traits.subscriptionIDForm = "an account's id, a UUID"
    traits.unknownID = "00000000-0000-0000-0000-000000000000"
    traits.notes = BTCPayNote.allCases.map(\.rawValue)
    return traits
  }

  package func isSubscriptionID(_ text: String) -> Bool {
    Identifier(text)?.description == text
  }

  /// An invoice's id, 16 bytes in base 58. Its server only lists invoices by account.
  package func purchase(
    named number: String, in environment: StoreEnvironment
  ) -> NamedPurchase? {
    let letters = Set("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
    guard 20...22 ~= number.utf8.count, number.allSatisfy(letters.contains),
      number.contains(where: { !$0.isNumber })
    else { return nil }
    return NamedPurchase(object: ObjectKey(.prepaidInvoice, number), subscription: nil)
  }

  package var webhook: Webhook? {
    guard let secrets, let api else { return nil }
    return Webhook(btcpay: secrets, store: api.store)
  }

  package var isReadable: Bool { api != nil }

  /// The server's report of a payment may be lost: its queue does not survive a restart.
  private static let openInvoiceDelay = Instant.Span.minutes(10)
  /// No coin is confirmed later than this.
  private static let openInvoiceAgeMax = Instant.Span.days(14)

  package func read(_ request: StoreRead) throws(APIFailure) -> StoreAnswer {
    guard let api else { throw .misconfigured("there is no key of a BTCPay server") }
    guard request.key.kind == .prepaid, let account = Identifier(request.key.id) else {
      throw .refused(status: 0, "is nothing that a BTCPay server sells")
    }
    let answer = try api.invoices(of: account)
    let isOpen = answer.invoices.contains {
      $0.content.isOpen && $0.shownAt < $0.content.created + Self.openInvoiceAgeMax
    }
    return StoreAnswer(
      facts: answer.invoices.flatMap { $0.facts(of: request.readNumber) },
      requests: isOpen
        ? [.init(request.key, reason: "open_invoice", delay: Self.openInvoiceDelay)] : [],
      notes: Set(answer.notes.map(\.rawValue)), transcript: answer.transcript)
  }
}

extension BTCPayObject: StoredObject {}

extension BTCPayAnswer.Shown {
  func facts(of readNumber: Int64) -> [Fact] {
    let invoice = Fact(
      key: ObjectKey(.prepaidInvoice, id), object: BTCPayObject.invoice(content),
      asOf: .readNumber(readNumber))
    return [invoice] + (settlement.map { [$0.fact(invoice: id)] } ?? [])
  }
}

extension BTCPaySettlement {
  func fact(invoice id: String) -> Fact {
    Fact(
      key: ObjectKey(.settlement, id), object: BTCPayObject.settlement(self), asOf: Self.asOf)
  }
}
