internal import Base
package import Subscriptions
package import Tiers

/// Everything that one account has bought at a BTCPay server: its invoices, and when they settled.
///
/// The server knows no subscription: every period is an invoice of its own, paid by hand. What makes
/// one of them is the account, by which its shop names the order. A product of mirrors, so it joins
/// as they do.
package struct BTCPayRecord: StoreRecord {
  /// The account's id.
  package let id: String
  package private(set) var invoices: [String: Mirror<BTCPayInvoice>] = [:]
  package private(set) var settlements: [String: Mirror<BTCPaySettlement>] = [:]

  package init(id: String) { self.id = id }

  /// Joins one object as a delivery shows it.
  @discardableResult
  package mutating func insert(
    _ object: BTCPayObject, id: String, asOf: AsOf, delivery: Int64
  ) -> MirrorChange {
    switch object {
    case .invoice(let content):
      invoices[id, default: Mirror()].insert(.init(content, asOf: asOf), delivery: delivery)
    case .settlement(let content):
      settlements[id, default: Mirror()].insert(.init(content, asOf: asOf), delivery: delivery)
    }
  }

  package mutating func merge(_ other: BTCPayRecord) {
    for (id, mirror) in other.invoices { invoices[id, default: Mirror()].merge(mirror) }
    for (id, mirror) in other.settlements { settlements[id, default: Mirror()].merge(mirror) }
  }

  /// Only two values of one read can disagree, and a list shows each invoice once; kept for the law's
  /// sake.
  package var isDirty: Bool { invoices.values.contains { $0.isDirty } }

  package func coverage(policy: Policy, catalogue: Catalogue) -> Coverage {
    .union(
      Choices.of(invoices, besides: 1) { id, invoice in
        BTCPayFold.Invoice(
          id: id, content: invoice, settledAt: settlements[id]?.contents.map(\.at).min())
      }.map { choice in
        BTCPayFold(
          invoices: choice.filter { $0.content.account?.description == self.id },
          catalogue: catalogue
        ).coverage()
      })
  }

  /// What it is while nothing is owed: an invoice that may still be paid is waited for.
  package func labelWithoutAccess(hadAccess: Bool) -> Label {
    invoices.values.contains { $0.contents.contains { $0.isOpen } } ? .pending : .expired
  }

  /// Nobody is billed by himself.
  package var willRenew: Bool { false }

  /// The order's own name; an operator may have changed it since.
  package var token: OwnerToken {
    guard let account = Identifier(id),
      invoices.values.contains(where: { $0.contents.contains { $0.account == account } })
    else { return .none }
    return .account(account, by: "invoice")
  }
}
