package import Base
package import Subscriptions

/// An object of a BTCPay server, reduced to what coverage needs: no personal data.
package enum BTCPayObject: StoreObject {
  case invoice(BTCPayInvoice)
  /// By the id of its invoice.
  case settlement(BTCPaySettlement)

  package var rank: Int {
    switch self {
    case .invoice(let content): content.rank
    case .settlement(let content): content.rank
    }
  }

  /// It is part of what its account prepaid.
  package func links(from key: ObjectKey) -> [Link] {
    let account =
      switch self {
      case .invoice(let content): content.account
      case .settlement(let content): Optional(content.account)
      }
    return account.map { [Link(key, .part, of: key.sibling(.prepaid, $0.description))] } ?? []
  }
}

/// One invoice as a read showed it: the only thing that the server sells.
///
/// https://docs.btcpayserver.org/API/Greenfield/v1/#tag/Invoices
package struct BTCPayInvoice: Mirrored {
  /// `metadata.orderId`, where it is an account of ours: whose periods follow one another.
  package let account: Identifier?
  /// `metadata.itemCode`: a price of the catalogue.
  package let product: String?
  /// What was asked for; nil where the payer chooses (`TopUp`).
  package let amount: BTCPayAmount?
  /// Upper case, as the server writes it.
  package let currency: String
  /// At the rate of the invoice, with payments that are not confirmed; nil where it is not told.
  package let paidAmount: BTCPayAmount?
  package let status: Status
  package let additional: AdditionalStatus
  package let created: Instant

  package init(
    account: Identifier?, product: String?, amount: BTCPayAmount?, currency: String,
    paidAmount: BTCPayAmount? = nil, status: Status, additional: AdditionalStatus = .nothing,
    created: Instant
  ) {
    self.account = account
    self.product = product
    self.amount = amount
    self.currency = currency
    self.paidAmount = paidAmount
    self.status = status
    self.additional = additional
    self.created = created
  }

  package enum Status: Hashable, Sendable {
    /// Not paid in full yet. Left by payment or time.
    case new
    /// Paid in full, not confirmed. Left by confirmations, and by a payment that vanishes.
    case processing
    /// Paid. Left only where an operator had marked it so.
    case settled
    /// Its time was over before it was paid in full. Left only by an operator.
    case expired
    /// Not confirmed in time, or an operator's word that it does not stand.
    case invalid
    /// A value this decoder does not know: grants nothing, raises an alarm.
    case other(String)

    package var text: String {
      switch self {
      case .new: "New"
      case .processing: "Processing"
      case .settled: "Settled"
      case .expired: "Expired"
      case .invalid: "Invalid"
      case .other(let text): text
      }
    }

    package init(_ text: String) {
      let known: [Status] = [.new, .processing, .settled, .expired, .invalid]
      self = known.first { $0.text == text } ?? .other(text)
    }
  }

  package enum AdditionalStatus: String, Sendable, CaseIterable {
    case nothing = "None"
    case paidPartial = "PaidPartial"
    case paidOver = "PaidOver"
    case paidLate = "PaidLate"
    /// By an operator, whatever was paid.
    case marked = "Marked"
    /// Unknown: the status alone counts.
    case other = "Other"
  }

  /// The server itself goes both ways, so the newest read holds.
  package var rank: Int { 0 }

  /// Whether it may still be paid.
  package var isOpen: Bool { status == .new || status == .processing }
}

/// That an invoice of an account was settled, and when that was first heard of.
///
/// An invoice does not say when it was settled. A signed delivery does; where it was lost, the first
/// read that shows it settled comes later, never earlier. So the earliest moment is the best known.
package struct BTCPaySettlement: Mirrored {
  package let account: Identifier
  /// In whole seconds.
  package let at: Instant

  package init(_ account: Identifier, at: Instant) {
    self.account = account
    self.at = Instant(seconds: at.seconds)
  }

  /// The earlier outdates the later.
  package var rank: Int { Int(-at.seconds) }

  /// All of them speak of one moment, however long after: none is older news than another.
  package static let asOf = AsOf.readNumber(0)
}
