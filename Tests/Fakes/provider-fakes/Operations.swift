import Base
import HTTPMessages
import JSON
import ProviderFakes

/// What `POST /control/<provider>/<operation>` does. Subscriptions go by `id`: an original
/// transaction id, a purchase token, a Stripe subscription, or an invoice of a BTCPay server.
///
/// What no customer could do ends the program, as it would end a test.
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

  private func apple(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.apple
    if operation == "buy" {
      let id = store.buy(
        try Plans.apple(input.plan), for: try input.account,
        namesAccount: input.flag("names_account") ?? true, trialDays: input.number("trial_days"))
      return ["id": .string(id)]
    }
    if operation == "test" {
      store.sendTest()
      return .object([])
    }
    let id = try input.id(of: store.truths.map(\.originalTransactionID))
    let transaction = store.latestTransaction(of: id)
    switch operation {
    case "break-card": store.breakCard(id)
    case "repair-card": store.repairCard(id)
    case "cancel": store.turnOffRenewal(id)
    case "restore": store.turnOnRenewal(id)
    case "change": store.change(id, to: try Plans.apple(input.plan))
    case "refund": store.refund(input.text("transaction") ?? transaction)
    case "reverse-refund": store.reverseRefund(input.text("transaction") ?? transaction)
    case "extend": store.extend(id, days: max(1, input.number("days")))
    case "resubscribe": store.resubscribe(id)
    case "share": return ["id": .string(store.share(id, with: try input.account))]
    case "stop-sharing": store.stopSharing(id)
    case "transaction": return ["signed": .string(store.signedTransaction(for: id))]
    case "notify": store.notify(id, input.text("type") ?? "UNKNOWN", input.text("subtype"))
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id), "transaction": .string(store.latestTransaction(of: id))]
  }

  private func google(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.google
    if operation == "buy" {
      let days = input.number("trial_days")
      let id = store.buy(
        try Plans.google(input.plan), for: try input.account,
        namesOwner: input.flag("names_account") ?? true, trialDays: days > 0 ? days : nil)
      return ["id": .string(id)]
    }
    if operation == "test" {
      store.sendTestNotification()
      return .object([])
    }
    let id = try input.id(of: store.truths.map(\.token))
    switch operation {
    case "break-card": store.breakCard(id)
    case "repair-card": store.repairCard(id)
    case "cancel": store.cancel(id)
    case "restore": store.restore(id)
    case "change":
      let token = store.replace(id, with: try Plans.google(input.plan), .chargeFullPrice)
      return ["id": .string(token)]
    case "refund": store.refund(store.orders(of: id).last ?? "", revoking: true)
    case "pause": store.schedulePause(id, .days(max(7, input.number("days"))))
    case "resume": store.resume(id)
    case "resubscribe": return ["id": .string(store.resubscribeOutsideApp(id))]
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id)]
  }

  private func stripe(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.stripe
    if operation == "buy" {
      let page = store.openCheckout(
        account: try input.account, try Plans.stripe(input.plan),
        trialDays: input.number("trial_days"))
      return ["id": .string(store.complete(checkout: page))]
    }
    let id = try input.id(of: store.subscriptions)
    switch operation {
    case "break-card": store.setCard(of: id, .declines)
    case "repair-card":
      store.setCard(of: id, .works)
      let invoice = store.latestInvoice(of: id)
      if store.status(ofInvoice: invoice) == "open" { store.pay(invoice: invoice) }
    case "cancel": store.cancel(id)
    case "restore": store.uncancel(id)
    case "delete": store.delete(id)
    case "change": store.changePrice(of: id, to: try Plans.stripe(input.plan))
    case "refund": store.refund(invoice: store.latestInvoice(of: id))
    case "dispute":
      return ["dispute": .string(store.dispute(invoice: store.latestInvoice(of: id)))]
    case "pause": store.pauseCollection(of: id, .void)
    case "resume": store.resumeCollection(of: id)
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id)]
  }
}

extension Operations {
  fileprivate func btcpay(_ operation: String, _ input: ControlInput) throws -> JSONValue {
    let store = stores.btcpay
    if operation == "buy" {
      let id = store.order(try Plans.btcpay(input.plan), for: try input.account)
      store.pay(id, .lightning)
      return ["id": .string(id)]
    }
    if operation == "order" {
      return ["id": .string(store.order(try Plans.btcpay(input.plan), for: try input.account))]
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
      let cents = input.number("cents")
      return ["payment": .string(store.pay(id, cents: cents > 0 ? cents : nil))]
    case "settle": store.mark(id, isSettled: true)
    case "invalidate": store.mark(id, isSettled: false)
    case "archive": store.archive(id)
    case "refund": store.offerRefund(id)
    default: throw ControlInput.unknown("operation", operation)
    }
    return ["id": .string(id), "status": .string(store.status(of: id))]
  }
}

/// One set of names for what the stores sell.
private enum Plans {
  static func apple(_ name: String) throws -> AppleProduct {
    switch name {
    case "premium.monthly": .premiumMonthly
    case "premium.yearly": .premiumYearly
    case "plus.monthly": .plusMonthly
    case "stickers.monthly": .stickersMonthly
    default: throw ControlInput.unknown("plan", name)
    }
  }

  static func google(_ name: String) throws -> GooglePlan {
    switch name {
    case "premium.monthly": .premiumMonthly
    case "premium.yearly": .premiumYearly
    case "plus.monthly": .plusMonthly
    case "stickers.monthly": .stickersMonthly
    default: throw ControlInput.unknown("plan", name)
    }
  }

  static func stripe(_ name: String) throws -> StripePrice {
    switch name {
    case "premium.monthly": .premiumMonthly
    case "premium.yearly": .premiumYearly
    case "plus.monthly": .plusMonthly
    case "stickers.monthly": .stickersMonthly
    default: throw ControlInput.unknown("plan", name)
    }
  }
}

extension Plans {
  fileprivate static func btcpay(_ name: String) throws -> BTCPayProduct {
    switch name {
    case "premium.monthly": .premiumMonth
    case "premium.yearly": .premiumYear
    case "plus.monthly": .plusMonth
    case "stickers.monthly": .stickers
    default: throw ControlInput.unknown("plan", name)
    }
  }
}

/// The JSON body of a control request.
struct ControlInput {
  private let json: JSON

  /// An empty body is an empty object.
  init(_ body: [UInt8]) throws {
    json = try JSON.parse(body.isEmpty ? Array("{}".utf8) : body).requireObject()
  }

  func text(_ name: String) -> String? { json[name].string }
  func number(_ name: String) -> Int64 { json[name].integer ?? 0 }
  func flag(_ name: String) -> Bool? { json[name].bool }

  var plan: String { text("plan") ?? "premium.monthly" }

  /// Nil where none is named.
  var account: Identifier? {
    get throws {
      guard let text = text("account") else { return nil }
      guard let account = Identifier(text) else { throw Self.unknown("account", text) }
      return account
    }
  }

  func id(of known: [String]) throws -> String {
    guard let id = text("id"), known.contains(id) else {
      throw Self.unknown("id", text("id") ?? "")
    }
    return id
  }

  /// `replica_lag_ms`, and `failures`: statuses, or 0 for no answer at all.
  func script(_ faults: FakeFaults) {
    faults.setReplicaLag(.milliseconds(number("replica_lag_ms")))
    let retryAfter = json["retry_after"].integer
    faults.fail(
      next: (json["failures"].array ?? []).compactMap { $0.integer }.map {
        $0 == 0 ? .timeout : .status(Int($0), retryAfter: retryAfter)
      })
  }

  static func unknown(_ kind: String, _ name: String) -> Problem {
    Problem(400, "unknown_\(kind)", "Unknown \(kind)", "There is no \(kind) \(name).")
  }
}
