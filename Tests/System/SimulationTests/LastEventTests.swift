import Base
import BillingSimulation
import ProviderFakes
import TestEngines
import Testing

/// What an account is told happened last.
struct LastEventTests {
  @Test func `what is given back minutes after a purchase is not why there is more`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.minutes(1))
    #expect(
      try shop.installation.sentences(for: shop.account)[1].hasSuffix(
        "a payment of 2.99 USD arrived at Stripe, and your account went from 1 MB (plan Free) to "
          + "30 GB (plan Premium)."))
    shop.stripe.refund(invoice: shop.stripe.invoices(of: id)[0], 100)
    try shop.pass(.minutes(1))
    #expect(
      try shop.installation.sentences(for: shop.account)[1].hasSuffix(
        "UTC, 1.00 USD was given back."))
  }
}
