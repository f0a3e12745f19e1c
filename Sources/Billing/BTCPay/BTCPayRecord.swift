import Base
package import Subscriptions
package import Tiers

/// Everything that one account has bought at a BTCPay server: its invoices, and when they settled.
///
/// The server has no subscriptions: every period is a separate invoice, paid by hand. The account ties them
/// together, because the shop names orders by it.
package struct BTCPayRecord: StoreRecord {
  /// The account's id.
  package let id: String
  package private(set) var invoices: [String: Mirror<BTCPayInvoice>] = [:]
  package private(set) var settlements: [String: Mirror<BTCPaySettlement>] = [:]

  package init(id: String) { self.id = id }

  /// Joins one object as shown by a delivery.
  package mutating func insert(_ object: BTCPayObject, id: String, asOf: AsOf, delivery: Int64) {
    switch object {
    case .invoice(let content):
      invoices[id, default: Mirror()].insert(.init(content, asOf: asOf), delivery: delivery)
    case .settlement(let content):
      settlements[id, default: Mirror()].insert(.init(content, asOf: asOf), delivery: delivery)
    }
  }

  /// Only two values of one read can disagree, and a list shows each invoice once. This is kept
  /// only for the mirrors' law.
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

  /// The state while there is no access: an invoice that may still be paid is pending.
  package func labelWithoutAccess(hadAccess: Bool) -> Label {
    invoices.values.contains { $0.contents.contains { $0.isOpen } } ? .pending : .expired
  }

  package var willRenew: Bool { false }

  /// The account that the orders name. An operator may have changed it since.
  package var token: OwnerToken {
    guard let account = Identifier(id),
      invoices.values.contains(where: { $0.contents.contains { $0.account == account } })
    else { return .none }
    return .account(account, by: "invoice")
  }
}
