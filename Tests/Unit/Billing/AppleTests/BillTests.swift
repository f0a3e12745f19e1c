import Apple
import Base
import Subscriptions
import Testing
import Tiers

/// What of a payment in the App Store went back.
struct BillTests {
  private func refunded(_ milliunits: Int64, percentageMilliunits: Int64) -> Money? {
    let start = Instant(seconds: 1_767_225_600)
    let transaction = AppleTransaction(
      originalTransactionID: "1", productID: "plus", purchaseDate: start,
      expiresDate: start + .days(30),
      revocation: .init(
        date: start + .days(9), kind: .prorated, percentageMilliunits: percentageMilliunits),
      price: .init(milliunits: milliunits, currency: "EUR"))
    var record = AppleRecord(id: "1")
    record.insert(
      .transaction(transaction), id: "1", asOf: .moment(start + .days(9)), delivery: 1)
    return record.bill.reversals.first?.amount
  }

  @Test func `a part goes back in whole cents`() {
    #expect(refunded(4990, percentageMilliunits: 50_000)?.description == "2.50 EUR")
  }

  @Test func `a part of the largest price that a signed text can hold goes back, too`() {
    #expect(refunded(.max, percentageMilliunits: 1)?.description == "92233720368.54 EUR")
    #expect(refunded(.max, percentageMilliunits: 2) == nil)
  }
}
