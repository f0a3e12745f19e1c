import Base
import JSON

/// The server's own JSON, member for member as version 2.4 writes it.
extension BTCPayWorld.Invoice {
  var metadata: JSONValue {
    .object(
      [("orderId", orderID), ("itemCode", itemCode)].compactMap { name, value in
        value.map { .init(name, .string($0)) }
      })
  }

  func json(store: String) -> JSONValue {
    var marks: [JSONValue] = []
    if canBeMarked, status != .settled { marks.append("Settled") }
    if canBeMarked, status != .invalid { marks.append("Invalid") }
    return [
      "id": .string(id), "storeId": .string(store),
      "amount": cents.map { .string(Self.decimal($0)) } ?? .null,
      "paidAmount": .string(Self.decimal(paid)),
      "checkoutLink": .string("https://pay.coffer.example/i/\(id)"),
      "status": .string(status.rawValue), "additionalStatus": .string(additional.rawValue),
      "monitoringExpiration": .integer(monitored.seconds),
      "expirationTime": .integer(expires.seconds), "createdTime": .integer(created.seconds),
      "availableStatusesForManualMarking": .array(marks), "archived": .bool(isArchived),
      "paymentMethods": [], "type": .string(cents == nil ? "TopUp" : "Standard"),
      "currency": .string(currency), "metadata": metadata,
      "checkout": [
        "speedPolicy": "MediumSpeed", "paymentMethods": ["BTC-CHAIN", "BTC-LN", "XMR-CHAIN"],
        "expirationMinutes": .integer((expires - created).milliseconds / 60_000),
        "monitoringMinutes": .integer((monitored - expires).milliseconds / 60_000),
        "redirectAutomatically": true, "defaultLanguage": nil,
      ],
      "receipt": ["enabled": true, "showQR": true, "showPayments": true],
    ]
  }

  fileprivate static func decimal(_ cents: Int64) -> String {
    let rest = String(cents % 100)
    return "\(cents / 100).\(rest.utf8.count == 1 ? "0" : "")\(rest)"
  }
}

extension BTCPayWorld.Payment {
  /// One coin is worth 60,000 euros, or 300 for Monero.
  var json: JSONValue {
    let (rate, digits): (Int64, Int) = method == .monero ? (300, 12) : (60_000, 8)
    let scale = (0..<digits).reduce(Int64(1)) { scale, _ in scale * 10 }
    let units = (cents * (scale / 1000) * 10 + rate - 1) / rate
    let fraction = String(units % scale)
    let zeros = String(repeating: "0", count: digits - fraction.utf8.count)
    return [
      "id": .string(id), "receivedDate": .integer(received.seconds),
      "value": .string("\(units / scale).\(zeros)\(fraction)"), "fee": "0",
      "status": isConfirmed ? "Settled" : "Processing", "destination": .string("invented-\(id)"),
    ]
  }
}

extension BTCPayWorld.Event {
  /// The body of one attempt. In a redelivery the type's own members come last.
  func body(store: String, webhook: String, delivery: String) -> [UInt8] {
    let isRedelivery = delivery != id
    let head: [JSONValue.Member] = [
      .init("deliveryId", .string(delivery)), .init("webhookId", .string(webhook)),
      .init("originalDeliveryId", .string(id)), .init("isRedelivery", .bool(isRedelivery)),
      .init("type", .string(type)), .init("timestamp", .integer(at.seconds)),
    ]
    var tail: [JSONValue.Member] = [.init("storeId", .string(store))]
    if let invoice { tail.append(.init("invoiceId", .string(invoice))) }
    if let metadata { tail.append(.init("metadata", metadata)) }
    let all = isRedelivery ? head + members + tail : members + head + tail
    return JSONValue.object(all).indented()
  }
}
