package import Base
package import Crypto
package import HTTPServer

/// The settings that `coffer-billing` reads whichever stores it has, and those by which the commands find it.
package enum BillingSettings {
  package static let listen = Setting<SocketAddress>(
    "COFFER_BILLING_LISTEN", for: [.billing, .command], .value("127.0.0.1:8081"),
    text: "Address and port of the webhooks and the billing API.", example: "0.0.0.0:8081",
    parser: .address)

  package static let sealingKeys = Setting<SealingKeys>(
    "COFFER_SEALING_KEYS", for: [.billing, .command], .requiredBy([.billing]),
    text: "Comma list of 32-byte keys in base64 that encrypt stored deliveries. The first one "
      + "encrypts; all of them decrypt. Make one with: openssl rand -base64 32",
    example: "<openssl rand -base64 32>", parser: .sealingKeys, isSecret: { _ in true })

  package static let searchKey = Setting<SearchKey>(
    "COFFER_SEARCH_KEY", for: [.billing, .command],
    .meaning("purchases are not found by e-mail address or name"),
    text: "A key of 32 bytes, in base64 or hexadecimal. Buyers' e-mail addresses and names are "
      + "stored as codes under this key, so that coffer find finds them but the database does not "
      + "reveal them. After a change, older codes are not found. Make one with: openssl rand "
      + "-base64 32",
    example: "<openssl rand -base64 32>",
    parser: Parser { text in
      let forms = [Base64.standard.decode(text), Hex.decode(text)].compactMap { $0 }
      return forms.lazy.compactMap { SearchKey(Secret($0)) }.first
    } refusal: { _ in
      "is not 32 bytes in base64 or hexadecimal"
    }, isSecret: { _ in true })

  package static let authorities = Setting<[String]>(
    "COFFER_BILLING_AUTHORITIES", for: [.billing, .command],
    .meaning("clients cannot claim purchases"),
    text: "Comma list of the host names that clients use for the billing API, with the port unless "
      + "it is the scheme's default. A request signed for any other host is refused.",
    example: "billing.example.com", parser: .authorities)

  package static let origins = Setting<[String]>(
    "COFFER_BILLING_ORIGINS", for: [.billing, .command],
    .meaning("no web page may claim purchases"),
    text: "Comma list of the origins of web pages that may use the billing API, as in "
      + "COFFER_SYNC_ORIGINS.",
    example: "https://app.example.com", parser: .origins)

  package static let restorePolicy = Setting<RestorePolicy>(
    "COFFER_RESTORE_POLICY", for: [.billing, .command], .value("refuse"),
    text: "What happens when a device claims a purchase that another account owns: refuse (only an "
      + "operator transfers it), inactive:<days> (the claimant gets it if the owner has been "
      + "inactive for so long), or transfer (the claimant gets it at once). Each transfer is in "
      + "the audit log. A purchase can move three times in thirty days.",
    example: "inactive:180", parser: .restorePolicy)

  package static let refundAnswers = Setting<RefundAnswers>(
    "COFFER_REFUND_ANSWERS", for: [.billing, .command], .value("off"),
    text: "The answer to a store's question before a refund, for customers who consented: off "
      + "(none), usage (how much of the quota is used), or decline, grant, prorate (usage and "
      + "your preference). See docs/refunds.md.",
    example: "usage",
    parser: Parser(
      { RefundAnswers(rawValue: $0) },
      refusal: { "\(quoted($0)) is not off, usage, decline, grant or prorate" }))

  package static let deletionPolicy = Setting<DeletionPolicy>(
    "COFFER_DELETION_POLICY", for: [.billing, .command], .value("period_end"),
    text: "When a deleted account's subscription ends at its store: period_end (it is not renewed) "
      + "or now (with the erasure). See docs/leaving.md.",
    example: "now",
    parser: Parser(
      { DeletionPolicy(rawValue: $0) }, refusal: { "\(quoted($0)) is not period_end or now" }))

  package static let reconcileHours = Setting<Int64>(
    "COFFER_RECONCILE_HOURS", for: [.billing, .command], .value("24"),
    text: "Hours between reconciliations of a store, which compare its lists with the ledger and "
      + "repair lost deliveries. From 1 to 600; 0 means only by coffer reconcile.",
    example: "6", parser: .number(in: 0...600))

  package static let sandboxAccounts = Setting<[Identifier]>(
    "COFFER_SANDBOX_ACCOUNTS", for: [.billing, .command], .meaning("none"),
    text: "Comma list of the accounts of testers and reviewers, for which sandbox purchases count.",
    example: "0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a01",
    parser: .list { (text, _) throws(ParseFailure) in
      if let account = Identifier(text) { return account }
      throw ParseFailure("\(quoted(text)) is no account id")
    })
}

extension Parser where Value == SealingKeys {
  fileprivate static var sealingKeys: Parser {
    let list = Parser<[Secret]>.list { (text, number) throws(ParseFailure) in
      guard let bytes = Base64.standard.decode(text), bytes.count == 32 else {
        throw ParseFailure("key \(number) is not 32 bytes in base64")
      }
      return Secret(bytes)
    }
    return Parser { (text) throws(ParseFailure) in
      let keys = try list.parse(text)
      do throws(CryptoError) {
        return try SealingKeys(keys)
      } catch {
        throw ParseFailure("the keys cannot be used together")
      }
    }
  }
}
