import Accounts
import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Storage
import Subscriptions
import Sync

extension Command {
  private static let anything = Parameter<String>.required(
    "anything", text: "id, name, key, number or e-mail address", .text)

  static let findAnything = Command(
    words: ["find"],
    abstract: "Find accounts, purchases and deliveries by any id or name",
    discussion: """
      Accepts what a customer or a store quotes. Accounts: username, id, device key (base64 or \
      hexadecimal), recovery key, id of a file, document, blob, log, chain, Actual budget or app password, or the URL \
      of a public link. Stores: customer, subscription, invoice or invoice number, charge, payment, refund, \
      dispute, transaction, order, purchase token, event or delivery number. With COFFER_SEARCH_KEY also a \
      buyer's whole e-mail address or name.

      Surrounding spaces and dots, upper case and a label such as "acct: " are ignored. Of a dashboard \
      URL, the last part is used. Deleted accounts and purchases without an owner are found too, with \
      former owners. The newest 20 deliveries are shown; delivery_count counts up to 10,000. The order \
      number of an Apple receipt is looked up at the App Store.
      """,
    examples: [
      "coffer find ada",
      "coffer find sub_1Qx8y",
    ],
    arguments: [anything],
    answers: FindText.listing.item,
    run: { invocation in
      let text = QuotedText.plain(invocation[anything])
      guard !text.isEmpty else {
        throw CommandFailure(
          .usage, "find needs something to look for: a name, an id, a key or a number")
      }
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
        let (key, bare) = (configuration.searchKey, QuotedText.bare(text))
        func found(_ text: String) throws -> FindText? {
          let result = try database.read { reader in
            try FindResult(text, at: now, ledger, key: key, reading: reader)
          }
          return result.isEmpty ? nil : FindText(result: result, now: now)
        }
        let isPersonal = text.contains { $0 == "@" || $0.isWhitespace || !$0.isASCII }
        let keyless =
          isPersonal && key == nil
          ? "e-mail addresses and names are not searched: COFFER_SEARCH_KEY is not set" : nil
        if let result = try found(text) ?? (bare == text || bare.isEmpty ? nil : found(bare)) {
          return result.answer(noting: keyless)
        }
        if let bought = try ReceiptLookup(invocation, configuration).bought(by: bare) {
          if let known = try bought.first.flatMap({ try found($0.description) }) {
            return known.answer(noting: nil)
          }
          throw ReceiptLookup.failure(bare, bought)
        }
        let otherKey =
          isPersonal
          ? "e-mail addresses and names are found only as a whole, under the COFFER_SEARCH_KEY they were stored with"
          : nil
        let advice = (keyless ?? otherKey).map { "; \($0)" } ?? ""
        throw CommandFailure(.refused, "nothing is known about \(Printable.text(text))\(advice)")
      }
    })
}

/// What was found, for people and for programs.
private struct FindText {
  let result: FindResult
  let now: Instant

  /// `notice` comes before that of more deliveries than are shown.
  func answer(noting notice: String?) -> Answer {
    let notices = [notice, more].compactMap { $0 }
    return Answer(
      text: text, json: Self.listing.json(result),
      notice: notices.isEmpty ? nil : notices.joined(separator: "; "))
  }

  private var more: String? {
    let finding = result.finding
    let shown = finding.deliveries.count
    guard shown < finding.deliveryTotal.count else { return nil }
    let all = "\(shown) of \(EventText.count(finding.deliveryTotal)) deliveries"
    let owners = Set(
      finding.subscriptions.compactMap { $0.owner ?? $0.formerOwners.first?.account })
    guard owners.count == 1, let owner = owners.first else { return all }
    return "\(all); coffer event list --account \(owner) lists them"
  }

  private var text: String {
    let finding = result.finding
    let twice = result.twice.map { account, paid in
      Prose.text(
        Printable.text("\(account): \(PaidTwiceText.sentence(paid))"), indent: "  ",
        width: ExplainedAccount.widthMax)
    }
    let others = finding.others.map { Printable.text($0.key.description) + "\n" }
    return [
      Self.accounts.section("accounts", result.accounts, at: now),
      twice.isEmpty ? "" : "pays twice\n" + twice.joined(),
      Self.purchases.section("purchases", finding.subscriptions, at: now),
      others.isEmpty ? "" : "known, and of no purchase\n" + Prose.indented(others.joined()),
      RefusedClaimText.listing.section("refused claims", finding.refusedClaims, at: now),
      EventText.listing.section("deliveries", finding.deliveries, at: now),
    ].filter { !$0.isEmpty }.joined(separator: "\n")
  }

  static var listing: Listing<FindResult> {
    let twice = Listing<(account: Identifier, paid: PaidTwice)>([
      .text("account") { $0.account.description },
      .object("paid", PaidTwiceText.listing) { $0.paid },
    ])
    return Listing([
      .list("accounts", accounts) { $0.accounts },
      .list("purchases", purchases) { $0.finding.subscriptions },
      .list("paid_twice", twice) { $0.twice },
      .texts("others") { $0.finding.others.map(\.key.description) },
      .list("refused_claims", RefusedClaimText.listing) { $0.finding.refusedClaims },
      .list("deliveries", EventText.listing) { $0.finding.deliveries },
      .integer("delivery_count") { Int64($0.finding.deliveryTotal.count) },
    ])
  }

  private static var accounts: Listing<FindResult.FoundAccount> {
    Listing([
      .text("account", "ACCOUNT") { $0.id.description }, .bool("exists") { $0.account != nil },
      .optionalText("username", "USERNAME") { $0.account?.username },
      .optionalTime("deleted") { $0.deleted },
      .optionalText("deletion") { $0.deletion?.state.rawValue },
      .shown("SINCE") { found, now in
        found.account.map { Terminal.time($0.created, now: now) }
          ?? found.deleted.map { "gone since \($0)" } ?? found.deletion?.text ?? "is no account"
      }, .text("by", "FOUND BY") { $0.by },
    ])
  }

  private static var purchases: Listing<Finding.Subscription> {
    Listing([
      .text("subscription", "PURCHASE") { $0.key.description },
      .text("state", "STATE") { $0.label.rawValue },
      Column(
        "owner", .orNull(.text), "OWNER",
        json: { $0.owner.map { .string($0.description) } ?? .null },
        cell: { found, _ in
          (found.owner?.description
            ?? (found.claimants.first.map { "nobody; claimed by \($0)" } ?? "nobody"))
            + (found.formerOwners.first.map { "; \($0.account) until \($0.until)" } ?? "")
        }), .list("former_owners", FormerOwnerText.listing) { $0.formerOwners },
      .texts("claimants") { $0.claimants.map(\.description) },
      .texts("by") { $0.by.map(\.description) },
      .shown("FOUND BY") { found, _ in
        let by = found.by.filter { $0 != found.key }.map { "\($0.kind.rawValue) \($0.id)" }
        return by.isEmpty ? "itself or its account" : by.prefix(3).joined(separator: ", ")
      },
    ])
  }
}

/// Earlier owners of a purchase.
enum FormerOwnerText {
  static var listing: Listing<Finding.FormerOwner> {
    Listing([.text("account") { $0.account.description }, .time("until") { $0.until }])
  }
}
