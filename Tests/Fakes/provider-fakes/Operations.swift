import Base
import HTTPMessages
import JSON
import ProviderFakes

/// The operations of `POST /control/<provider>/<operation>`. A subscription is named by `id`: an original
/// transaction id, a purchase token, a Stripe subscription, or an invoice of a BTCPay server.
///
/// An operation that no customer could perform is refused with a sentence.
struct Operations {
  let stores: Stores

  func perform(
    _ provider: String, _ operation: String, _ input: ControlInput
  ) throws -> JSONValue {
    switch provider {
    case "apple": try apple(operation, input)
    case "google": try google(operation, input)
    case "stripe": try stripe(operation, input)
    case "btcpay": try btcpay(operation, input)
    default: throw ControlInput.unknown("provider", provider)
    }
  }

  private func refuse(_ hindrance: String?) throws(Problem) {
    guard let hindrance else { return }
    throw Problem(409, "impossible", "Not possible as it is", hindrance)
  }

  private func apple(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.apple
    if operation == "buy" {
      let id = store.buy(
        try Plan(input.plan).apple, for: try input.account,
        namesAccount: input.flag("names_account") ?? true, trialDays: try input.trialDays)
      return ["id": .string(id)]
    }
    if operation == "test" {
      store.sendTest()
      return .object([])
    }
    let id = try input.id(of: store.truths.map(\.originalTransactionID))
    let transaction = input.text("transaction") ?? store.latestTransaction(of: id)
    func may(_ deed: FakeAppStore.Act) throws { try refuse(store.hindrance(to: deed, id)) }
    switch operation {
    case "receipt": return ["order": .string(AppleReceipt.order(of: transaction))]
    case "break-card": store.breakCard(id)
    case "repair-card": store.repairCard(id)
    case "cancel":
      try may(.cancel)
      store.turnOffRenewal(id)
    case "restore":
      try may(.restore)
      store.turnOnRenewal(id)
    case "change":
      let product = try Plan(input.plan).apple
      try may(.change(product))
      store.change(id, to: product)
    case "refund":
      try may(.refund(transaction))
      store.refund(transaction)
    case "reverse-refund":
      try may(.reverseRefund(transaction))
      store.reverseRefund(transaction)
    case "extend":
      let days = try input.number("days", 1...90, otherwise: 1)
      try may(.extend)
      store.extend(id, days: days)
    case "resubscribe":
      try may(.resubscribe)
      store.resubscribe(id)
    case "share":
      let account = try input.account
      try may(.share)
      return ["id": .string(store.share(id, with: account))]
    case "stop-sharing":
      try may(.stopSharing)
      store.stopSharing(id)
    case "transaction": return ["signed": .string(store.signedTransaction(for: id))]
    case "notify": store.notify(id, input.text("type") ?? "UNKNOWN", input.text("subtype"))
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id), "transaction": .string(store.latestTransaction(of: id))]
  }

  private func google(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.google
    if operation == "buy" {
      let days = try input.trialDays
      let id = store.buy(
        try Plan(input.plan).google, for: try input.account,
        namesOwner: input.flag("names_account") ?? true, trialDays: days > 0 ? days : nil)
      return ["id": .string(id)]
    }
    if operation == "test" {
      store.sendTestNotification()
      return .object([])
    }
    let id = try input.id(of: store.truths.map(\.token))
    func may(_ deed: FakePlayStore.Act) throws { try refuse(store.hindrance(to: deed, id)) }
    switch operation {
    case "break-card": store.breakCard(id)
    case "repair-card": store.repairCard(id)
    case "cancel":
      try may(.cancel)
      store.cancel(id)
    case "restore":
      try may(.restore)
      store.restore(id)
    case "change":
      let plan = try Plan(input.plan).google
      try may(.change)
      return ["id": .string(store.replace(id, with: plan, .chargeFullPrice))]
    case "refund":
      try may(.refund)
      store.refund(store.orders(of: id).last ?? "", revoking: true)
    case "pause":
      let days = try input.number("days", 7...90, otherwise: 7)
      try may(.pause)
      store.schedulePause(id, .days(days))
    case "resume":
      try may(.resume)
      store.resume(id)
    case "resubscribe":
      try may(.resubscribe)
      return ["id": .string(store.resubscribeOutsideApp(id))]
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id)]
  }

  /// The customer's part of a flow that waits: on a page, or at their bank.
  private func customerDid(
    _ operation: String, _ input: ControlInput
  ) throws -> JSONValue? {
    let store = stores.stripe
    switch operation {
    case "visit":
      let id = input.text("id") ?? ""
      guard store.isOpen(checkout: id) else { throw ControlInput.unknown("id", id) }
      return ["id": .string(store.complete(checkout: id))]
    case "confirm":
      let secret = input.text("client_secret") ?? ""
      guard store.confirm(secret, succeeds: input.flag("succeeds") ?? true) else {
        throw ControlInput.unknown("client_secret", secret)
      }
      return ["id": .string(secret)]
    default: return nil
    }
  }

  private func stripe(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.stripe
    if operation == "buy" {
      let page = store.openCheckout(
        account: try input.account, try Plan(input.plan).stripe,
        trialDays: try input.trialDays)
      return ["id": .string(store.complete(checkout: page))]
    }
    if let did = try customerDid(operation, input) { return did }
    let id = try input.id(of: store.subscriptions)
    func may(_ deed: FakeStripe.Act) throws { try refuse(store.hindrance(to: deed, id)) }
    switch operation {
    case "break-card": store.setCard(of: id, .declines)
    case "repair-card":
      store.setCard(of: id, .works)
      let invoice = store.latestInvoice(of: id)
      if store.status(ofInvoice: invoice) == "open" { store.pay(invoice: invoice) }
    case "cancel":
      try may(.cancel)
      store.cancel(id)
    case "restore":
      try may(.restore)
      store.uncancel(id)
    case "delete":
      try may(.end)
      store.delete(id)
    case "change":
      let price = try Plan(input.plan).stripe
      try may(.change)
      store.changePrice(of: id, to: price)
    case "refund":
      try may(.refund)
      store.refund(invoice: store.latestInvoice(of: id))
    case "dispute":
      try may(.dispute)
      return ["dispute": .string(store.dispute(invoice: store.latestInvoice(of: id)))]
    case "pause":
      try may(.pause)
      store.pauseCollection(of: id, .void)
    case "resume":
      try may(.resume)
      store.resumeCollection(of: id)
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id)]
  }
}

extension Operations {
  fileprivate func btcpay(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.btcpay
    if operation == "buy" {
      let id = store.order(try Plan(input.plan).btcpay, for: try input.account)
      store.pay(id, .lightning)
      return ["id": .string(id)]
    }
    if operation == "order" {
      return ["id": .string(store.order(try Plan(input.plan).btcpay, for: try input.account))]
    }
    if operation == "test" {
      store.sendTest()
      return .object([])
    }
    if operation == "restart" {
      store.restart()
      return .object([])
    }
    let id = try input.id(of: store.invoices)
    switch operation {
    case "pay":
      let cents = try input.number("cents", 0...1_000_000, otherwise: 0)
      return ["payment": .string(store.pay(id, cents: cents > 0 ? cents : nil))]
    case "settle":
      try refuse(store.hindranceToMark(id))
      store.mark(id, isSettled: true)
    case "invalidate":
      try refuse(store.hindranceToMark(id))
      store.mark(id, isSettled: false)
    case "archive": store.archive(id)
    case "refund": store.offerRefund(id)
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id), "status": .string(store.status(of: id))]
  }
}

/// A product at each of the stores, by its name in the control API.
private struct Plan {
  let apple: AppleProduct
  let google: GooglePlan
  let stripe: StripePrice
  let btcpay: BTCPayProduct

  init(_ name: String) throws {
    (apple, google, stripe, btcpay) =
      switch name {
      case "premium.monthly": (.premiumMonthly, .premiumMonthly, .premiumMonthly, .premiumMonth)
      case "premium.yearly": (.premiumYearly, .premiumYearly, .premiumYearly, .premiumYear)
      case "plus.monthly": (.plusMonthly, .plusMonthly, .plusMonthly, .plusMonth)
      case "stickers.monthly":
        (.stickersMonthly, .stickersMonthly, .stickersMonthly, .stickers)
      default: throw ControlInput.unknown("plan", name)
      }
  }
}
