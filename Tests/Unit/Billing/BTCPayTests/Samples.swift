import BTCPay
import Base
import JSON
import Subscriptions
import Testing
import Tiers

/// A store, an account, a catalogue with prices, and invoices of that store.
enum Samples {
  static let secret = Secret("coffer-fixture-webhook-secret")
  static let store = "4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiMvB1P"
  static let invoice = "Kx3FpVd8RmTz5WqNbYc6Hs"
  static let account = Identifier(high: 0x0B7C_0000_0000_4000, low: 0x8000_0000_0000_0001)
  static let other = Identifier(high: 0x0B7C_0000_0000_4000, low: 0x8000_0000_0000_0002)
  /// 2026-01-05T10:00:00Z.
  static let start = Instant(seconds: 1_767_607_200)

  static let catalogue: Catalogue = {
    func product(_ id: String, _ amount: Int64, _ interval: Plan.Interval) -> Plan.Product {
      Plan.Product(
        provider: "btcpay", id: id,
        price: Plan.Price(amountMinorUnits: amount, currency: "eur", interval: interval))
    }
    do {
      return try Catalogue(
        version: "samples", free: Plan(id: "free", title: "Free", byteCount: 1),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 30,
            products: [
              product("premium-month", 300, .month), product("premium-year", 3000, .year),
              Plan.Product(provider: "btcpay", id: "premium-unpriced"),
              product("premium-gift", 0, .month),
            ]),
          Plan(
            id: "plus", title: "Plus", byteCount: 200,
            products: [product("plus-month", 1000, .month)]),
          Plan(
            id: "extra", title: "Extra", byteCount: 2, isAddition: true,
            products: [product("extra-month", 100, .month)]),
        ], ignored: [Plan.Product(provider: "btcpay", id: "stickers")], fallbackPlanID: "premium")
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// The shop's usual invoice; by default a month of premium.
  static func invoice(
    _ product: String? = "premium-month", account: Identifier? = account, amount: String? = "3.00",
    currency: String = "EUR", paid: String? = nil, _ status: BTCPayInvoice.Status = .settled,
    _ additional: BTCPayInvoice.AdditionalStatus = .nothing, created: Instant = start
  ) -> BTCPayInvoice {
    BTCPayInvoice(
      account: account, product: product, amount: amount.flatMap { BTCPayAmount($0) },
      currency: currency, paidAmount: paid.flatMap { BTCPayAmount($0) }, status: status,
      additional: additional, created: created)
  }

  static func invoice(
    _ status: BTCPayInvoice.Status, _ additional: BTCPayInvoice.AdditionalStatus = .nothing
  ) -> BTCPayInvoice {
    invoice("premium-month", status, additional)
  }

  /// As a server of version 2.4 writes it, byte for byte (indented, no line end).
  static let settled = Array(
    """
    {
      "manuallyMarked": false,
      "overPaid": false,
      "deliveryId": "Rb8YtGwXn4KcZ7mQpVd2Js",
      "webhookId": "Hq7mZs4TnVbXc2RkPw9DyJ",
      "originalDeliveryId": "Rb8YtGwXn4KcZ7mQpVd2Js",
      "isRedelivery": false,
      "type": "InvoiceSettled",
      "timestamp": 1790001893,
      "storeId": "4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiMvB1P",
      "invoiceId": "Kx3FpVd8RmTz5WqNbYc6Hs",
      "metadata": {
        "orderId": "coffer-ord-01K7ZQ5T8M4W",
        "itemCode": "standard-1y",
        "itemDesc": "Coffer Standard, one year"
      }
    }
    """.utf8)
  static let settledSignature =
    "sha256=c6d24d19a3b9023778393f1bdcd618bc3fd56f78c9724aea8c9887d562e3171d"

  /// The same event again, with its members in another order.
  static let redelivered = Array(
    """
    {
      "deliveryId": "Tn5HzKqPw7XbRm3VcYd9Fs",
      "webhookId": "Hq7mZs4TnVbXc2RkPw9DyJ",
      "originalDeliveryId": "Rb8YtGwXn4KcZ7mQpVd2Js",
      "isRedelivery": true,
      "type": "InvoiceSettled",
      "timestamp": 1790001893,
      "manuallyMarked": false,
      "overPaid": false,
      "storeId": "4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiMvB1P",
      "invoiceId": "Kx3FpVd8RmTz5WqNbYc6Hs",
      "metadata": {
        "orderId": "coffer-ord-01K7ZQ5T8M4W",
        "itemCode": "standard-1y",
        "itemDesc": "Coffer Standard, one year"
      }
    }
    """.utf8)
  static let redeliveredSignature =
    "sha256=24e3d7c0614d2c21060ea5ce7f89189051651dfb291435d5e1e0d73f8d942458"

  static let paymentSettledLate = Array(
    """
    {
      "afterExpiration": true,
      "paymentMethodId": "BTC-CHAIN",
      "payment": {
        "id": "9e1d5a7c30f4b2e86d195a7c30f4b2e86d195a7c30f4b2e86d195a7c30f4b2e8-0",
        "receivedDate": 1790007240,
        "value": "0.0008",
        "fee": "0",
        "status": "Settled",
        "destination": "bc1q-invented-destination-two"
      },
      "deliveryId": "Pm9XcVtRz4KnWb7QdHy2Js",
      "webhookId": "Hq7mZs4TnVbXc2RkPw9DyJ",
      "originalDeliveryId": "Pm9XcVtRz4KnWb7QdHy2Js",
      "isRedelivery": false,
      "type": "InvoicePaymentSettled",
      "timestamp": 1790008105,
      "storeId": "4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiMvB1P",
      "invoiceId": "Wd6QbNxKv2TpZr8MhYc4Gs",
      "metadata": {
        "orderId": "coffer-ord-01K7ZR0C3N9B",
        "itemCode": "standard-1y",
        "itemDesc": "Coffer Standard, one year"
      }
    }
    """.utf8)
  static let paymentSettledLateSignature =
    "sha256=29eb7b50e7e15b80651e8bbc3f3f691e5d10f19c01bff240c0a9d1576a56ed7a"

  /// `InvoiceData` with the members that are read, and some that are not.
  static func json(
    id: String = invoice, _ changes: [(String, JSONValue?)] = []
  ) -> JSONValue {
    var members: [(String, JSONValue?)] = [
      ("id", .string(id)), ("storeId", .string(store)), ("amount", "3.00"), ("paidAmount", "3.00"),
      ("checkoutLink", "https://pay.example.org/i/x"), ("status", "Settled"),
      ("additionalStatus", "None"), ("createdTime", .integer(start.seconds)),
      ("archived", false), ("type", "Standard"), ("currency", "EUR"),
      (
        "metadata",
        [
          "orderId": .string(account.description), "itemCode": "premium-month",
          "buyerEmail": "somebody@example.org",
        ]
      ),
      ("paymentMethods", []),
    ]
    for (name, value) in changes {
      members.removeAll { $0.0 == name }
      members.append((name, value))
    }
    return .object(members.compactMap { name, value in value.map { .init(name, $0) } })
  }
}
