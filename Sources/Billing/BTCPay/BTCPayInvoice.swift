package import Base
package import Subscriptions

/// An object of a BTCPay server, reduced to what coverage needs: no personal data.
package enum BTCPayObject: StoreObject {
  case invoice(BTCPayInvoice)
  /// Identified by the id of its invoice.
  case settlement(BTCPaySettlement)

  package var rank: Int {
    switch self {
    case .invoice(let content): content.rank
    case .settlement(let content): content.rank
    }
  }

  /// The object is part of what its account prepaid.
  package func links(from key: ObjectKey) -> [Link] {
    let account =
      switch self {
      case .invoice(let content): content.account
      case .settlement(let content): Optional(content.account)
      }
    return account.map { [Link(key, .part, of: key.sibling(.prepaid, $0.description))] } ?? []
  }
}

/// One invoice as shown by a read: the only thing that the server sells. The server itself changes
/// states in both directions, so the newest read counts.
///
/// https://docs.btcpayserver.org/API/Greenfield/v1/#tag/Invoices
package struct BTCPayInvoice: Mirrored {
  /// `metadata.orderId`, if it is an account of ours. The periods of one account follow one another.
  package let account: Identifier?
  /// `metadata.itemCode`: a price of the catalogue.
  package let product: String?
  /// The amount asked for; nil if the payer chooses it (`TopUp`).
  package let amount: BTCPayAmount?
  /// Upper case, as the server writes it.
  package let currency: String
  /// At the invoice's rate, including unconfirmed payments; nil if not given.
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
    /// Not paid in full yet. Ends by payment or by time.
    case new
    /// Paid in full but not confirmed. Ends by confirmations, or by the payment's disappearance.
    case processing
    /// Paid. Ends only if an operator had marked it as settled.
    case settled
    /// Its time ended before it was paid in full. Only an operator can change that.
    case expired
    /// Not confirmed in time, or marked invalid by an operator.
    case invalid
    /// A value that this decoder does not know: grants nothing, raises an alarm.
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
    /// Marked by an operator, whatever was paid.
    case marked = "Marked"
    /// Unknown: only the status counts.
    case other = "Other"
  }

  /// Whether it may still be paid.
  package var isOpen: Bool { status == .new || status == .processing }
}

/// The settlement of an invoice of an account, and when it was first reported.
///
/// Only a signed delivery says when. If it was lost, the first read that shows the invoice settled is later, so
/// the earliest known moment is the best.
package struct BTCPaySettlement: Mirrored {
  package let account: Identifier
  /// In whole seconds.
  package let at: Instant

  package init(_ account: Identifier, at: Instant) {
    self.account = account
    self.at = Instant(seconds: at.seconds)
  }

  /// An earlier moment outdates a later one.
  package var rank: Int { Int(-at.seconds) }

  /// All values are about the same moment, however late they arrive, so none is older than another.
  package static let asOf = AsOf.readNumber(0)
}
