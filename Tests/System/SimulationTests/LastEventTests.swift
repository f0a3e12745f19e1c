import Base
import BillingSimulation
import ProviderFakes
import TestEngines
import Testing

/// The last event that an account sees.
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

  @Test func `what goes back while it renews is told to be billed again`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.minutes(1))
    shop.stripe.refund(invoice: shop.stripe.invoices(of: id)[0])
    try shop.pass(.minutes(10))
    let sentences = try shop.installation.sentences(for: shop.account)
    #expect(
      sentences[0].hasSuffix("because the payment was refunded, until the next period is paid."))
    #expect(
      sentences[2] == "Next, the subscription is billed again on 2026-10-21 14:13 UTC, which "
        + "brings the plan back; cancelling ends that.")
  }

  @Test func `what went back and is heard of late bears the time at which it went`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.days(5))
    shop.delivers = false
    shop.stripe.refund(invoice: shop.stripe.invoices(of: id)[0])
    try shop.pass(.days(12))
    shop.delivers = true
    try shop.pass(.minutes(1))
    #expect(
      try shop.installation.sentences(for: shop.account)[1]
        == "Last, on 2026-09-26 14:13 UTC, 2.99 USD was given back, which we heard of on 2026-10-08 "
        + "14:14 UTC, and your account went from 30 GB (plan Premium) to 1 MB (plan Free).")
  }
}
