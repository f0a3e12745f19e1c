package import Base
package import Configuration

extension BTCPayConfiguration {
  /// The BTCPay server's settings, one row each.
  package enum Keys {
    package static let url = Setting<String>(
      "COFFER_BTCPAY_URL", for: [.billing, .command], .meaning("BTCPay Server is off"),
      text: "URL of your BTCPay server. Plain http is allowed only to this machine.",
      example: "https://pay.example.com", parser: .url)

    package static let storeID = Setting<String>(
      "COFFER_BTCPAY_STORE_ID", for: [.billing, .command],
      .meaning("required with COFFER_BTCPAY_URL"),
      text:
        "Id of its store that sells only Coffer's plans. Deliveries of other stores are stored "
        + "and ignored.",
      example: "4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiMvB1P",
      parser: Parser { (text) throws(ParseFailure) in
        let isID = text.utf8.allSatisfy {
          switch $0 {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
          default: false
          }
        }
        guard isID, (20...64).contains(text.utf8.count) else {
          throw ParseFailure("\(quoted(text)) is no id of a store: letters and digits")
        }
        return text
      })

    package static let apiKey = Setting<Secret>(
      "COFFER_BTCPAY_API_KEY", for: [.billing, .command],
      .meaning("required with COFFER_BTCPAY_URL"),
      text: "A key of its Greenfield API that may only view the store's invoices.",
      example: "<the key>",
      parser: Parser { (text) throws(ParseFailure) in
        guard isPrintable(text), text.utf8.count >= 20 else {
          throw ParseFailure("is no API key: at least 20 characters without blanks")
        }
        return Secret(text)
      }, isSecret: { _ in true })

    package static let webhookSecrets = Setting<[Secret]>(
      "COFFER_BTCPAY_WEBHOOK_SECRETS", for: [.billing, .command],
      .meaning("required with COFFER_BTCPAY_URL"),
      text:
        "Comma list of the webhook's secrets. All are accepted, so that one can be rotated: "
        + "waiting deliveries keep the old signature for an hour.",
      example: "<new>, <old>",
      parser: .list { (text, number) throws(ParseFailure) in
        guard isPrintable(text), text.utf8.count >= 16 else {
          throw ParseFailure("secret \(number) has less than 16 characters, or blanks")
        }
        return Secret(text)
      }, isSecret: { _ in true })
  }
}
