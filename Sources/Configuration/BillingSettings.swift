package import Base
package import Crypto
package import HTTPServer

/// The settings that `coffer-billing` reads whichever stores it has, and those by which the commands find it.
package enum BillingSettings {
  package static let listen = Setting<SocketAddress>(
    "COFFER_BILLING_LISTEN", for: [.billing, .command], .value("127.0.0.1:8081"),
    text: "Address and port of the webhooks' receiver.", example: "0.0.0.0:8081",
    parser: .address)

  package static let sealingKeys = Setting<SealingKeys>(
    "COFFER_SEALING_KEYS", for: [.billing, .command], .requiredBy([.billing]),
    text: "Comma list of 32-byte keys in base64 that seal kept deliveries; the first seals, "
      + "every one opens. Make one with: openssl rand -base64 32",
    example: "<openssl rand -base64 32>", parser: .sealingKeys, isSecret: { _ in true })

  package static let searchKey = Setting<SearchKey>(
    "COFFER_SEARCH_KEY", for: [.billing, .command],
    .meaning("purchases are not found by what is personal"),
    text: "32 bytes in base64 or hexadecimal. Under this key e-mail addresses and names of buyers "
      + "are kept as codes, so that coffer find finds them and the database does not tell them. "
      + "With another key nothing of before is found. Make one with: openssl rand -base64 32",
    example: "<openssl rand -base64 32>",
    parser: Parser { (text) throws(ParseFailure) in
      let forms = [Base64.standard.decode(text), Hex.decode(text)].compactMap { $0 }
      guard let key = forms.lazy.compactMap({ SearchKey(Secret($0)) }).first else {
        throw ParseFailure("is not 32 bytes in base64 or hexadecimal")
      }
      return key
    }, isSecret: { _ in true })

  package static let authorities = Setting<[String]>(
    "COFFER_BILLING_AUTHORITIES", for: [.billing, .command],
    .meaning("clients cannot claim purchases"),
    text: "Comma list of the host names under which clients claim purchases, with the port "
      + "unless it is the scheme's own. A request signed for any other host is refused.",
    example: "billing.example.com", parser: .authorities)

  package static let origins = Setting<[String]>(
    "COFFER_BILLING_ORIGINS", for: [.billing, .command],
    .meaning("no web page may claim purchases"),
    text: "Comma list of the origins of web pages that may claim purchases, as in "
      + "COFFER_SYNC_ORIGINS.",
    example: "https://app.example.com", parser: .origins)

  package static let restorePolicy = Setting<RestorePolicy>(
    "COFFER_RESTORE_POLICY", for: [.billing, .command], .value("refuse"),
    text: "Who gets a purchase that another account owns when a device presents it as its own: "
      + "refuse (nobody, an operator transfers it), inactive:<days> (the claimant, where the owner "
      + "did nothing for so many days), transfer (the claimant at once). Every restore is in the "
      + "audit log, and a purchase changes hands so three times in thirty days at most.",
    example: "inactive:180", parser: .restorePolicy)

  package static let refundAnswers = Setting<RefundAnswers>(
    "COFFER_REFUND_ANSWERS", for: [.billing, .command], .value("off"),
    text: "What stores are told when they ask before a refund, of customers "
      + "who agreed to that alone: off (nothing), usage (how much of what was bought is in use), "
      + "decline, grant, prorate (the same, and what you would have them do). docs/refunds.md.",
    example: "usage", parser: .refundAnswers)

  package static let deletionPolicy = Setting<DeletionPolicy>(
    "COFFER_DELETION_POLICY", for: [.billing, .command], .value("period_end"),
    text:
      "When what a deleted account pays for ends where its store can be told: period_end (billed no more, and runs to "
      + "its end) or now (with the erasure). docs/leaving.md.",
    example: "now", parser: .deletionPolicy)

  package static let reconcileHours = Setting<Int64>(
    "COFFER_RECONCILE_HOURS", for: [.billing, .command], .value("24"),
    text:
      "Hours from one reconciliation of a store to the next: its lists are compared with what is "
      + "known, so that lost deliveries are made up for. From 1 to 600; 0: only by coffer reconcile.",
    example: "6", parser: .number(in: 0...600))

  package static let sandboxAccounts = Setting<[Identifier]>(
    "COFFER_SANDBOX_ACCOUNTS", for: [.billing, .command], .meaning("none"),
    text: "Comma list of the accounts of testers and reviewers, for whom sandbox purchases "
      + "count as well.",
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
