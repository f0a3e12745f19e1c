import Base
package import Subscriptions
import Tiers

extension AppleRecord {
  /// The bill. If siblings disagree, the first of them counts.
  package var bill: Bill {
    let known = transactions.compactMap { id, mirror in
      mirror.contents.first.map { (id: id, content: $0) }
    }
    let newest = known.max { ($0.content.purchaseDate, $0.id) < ($1.content.purchaseDate, $1.id) }
    let next = renewal.contents.first?.nextProductID
    return Bill(
      items: newest.map {
        [Bill.Item(product: $0.content.productID, price: nil, isLeaving: next != nil)]
      } ?? [],
      next: next.map { Bill.Item(product: $0, price: nil) },
      payments: known.map { id, content in
        Bill.Payment(
          .init(.transaction, id), .paid,
          word: content.isFreeTrial ? "trial" : content.ownership.text.lowercased(),
          at: content.purchaseDate, amount: content.paid?.money, product: content.productID,
          from: content.purchaseDate, to: content.expiresDate)
      },
      reversals: known.compactMap { id, content in
        content.revocation.map { Bill.Reversal($0, of: content.paid, id: id) }
      })
  }
}

extension AppleTransaction {
  /// The amount that its holder paid: nothing for a purchase shared by a family, or a seat.
  fileprivate var paid: Price? {
    switch ownership {
    case .purchased, .other: price
    case .familyShared, .assigned: price.map { Price(milliunits: 0, currency: $0.currency) }
    }
  }
}

extension Bill.Reversal {
  fileprivate init(
    _ revocation: AppleTransaction.Revocation, of price: AppleTransaction.Price?, id: String
  ) {
    let kind: Kind =
      switch revocation.kind {
      case .full, .prorated: .refund
      case .family, .assignment: .unshared
      case .unknown: .revocation
      }
    self.init(
      .init(.transaction, id), kind, .done,
      word: revocation.kind.rawValue, at: revocation.date,
      amount: kind == .refund ? price.flatMap { revocation.portion(of: $0)?.money } : nil,
      of: .init(.transaction, id))
  }
}

extension AppleTransaction.Revocation {
  /// The refunded part of a price; nil if unknown.
  fileprivate func portion(of price: AppleTransaction.Price) -> AppleTransaction.Price? {
    let everything: Int64 = 100_000
    if kind == .full { return price }
    guard let percentageMilliunits, (0...everything).contains(percentageMilliunits) else {
      return nil
    }
    let (product, overflow) = price.milliunits.multipliedReportingOverflow(by: percentageMilliunits)
    // Rounded to the currency's smallest unit.
    let unit: Int64 =
      switch MinorUnits.exponent(of: price.currency.lowercased()) {
      case 0: 1000
      case 2: 10
      default: 1
      }
    let divisor = everything * unit
    return overflow
      ? nil
      : .init(
        milliunits: product.addingClamped(divisor / 2) / divisor * unit, currency: price.currency)
  }
}

extension AppleTransaction.Price {
  fileprivate var money: Money { Money(milliunits, exponent: 3, currency: currency) }
}
