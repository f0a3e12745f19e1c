import Answers
import Base
import BillingSimulation
import KnownStores
import Ledger
import ProviderFakes
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing

/// What an account that pays twice should get back.
struct PaidTwiceTests {
  @Test func `what is refunded is the bill of the plan, not of the add-on beside it`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    _ = shop.stripe.buy(account: shop.account)
    try shop.pass(.hours(1))
    let second = shop.stripe.buy(account: shop.account)
    try shop.pass(.hours(1))
    shop.stripe.add(.extraMonthly, to: second)
    try shop.pass(.hours(1))
    let (account, now) = (shop.account, shop.installation.now)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: simulationCatalogue))
    let paid = try shop.installation.database.read { reader in
      try PaidTwice(by: account, at: now, of: ledger, reading: reader)
    }
    let bills = shop.stripe.invoices(of: second)
    try #require(bills.count == 2)
    #expect(paid?.surplus.map(\.key.id) == [second])
    #expect(paid?.surplus.first?.payment?.object.id == bills[0])
  }
}
