internal import Accounts
internal import Acts
internal import Answers
internal import Base
internal import CommandLine
internal import Configuration
internal import Crypto
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Subscriptions
internal import Sync

extension Command {
  private static let anything = Parameter<String>.required(
    "anything", text: "id, name, key, number or e-mail address", .text)

  static let findAnything = Command(
    words: ["find"],
    abstract: "Find accounts, purchases and deliveries by any id or name",
    discussion: """
      Accepts what a customer or a store quotes. Accounts: username, id or device key (base64 or \
      hexadecimal). Stores: customer, subscription, invoice or invoice number, charge, payment, refund, \
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
    answers: [
      "accounts": .list([
        "account": .text, "exists": .bool, "username": .orNull(.text), "deleted": .orNull(.time),
        "deletion": .orNull(.text), "by": .text,
      ]),
      "purchases": .list([
        "subscription": .text, "state": .text, "owner": .orNull(.text),
        "former_owners": .list(["account": .text, "until": .time]), "claimants": .list(.text),
        "by": .list(.text),
      ]),
      "paid_twice": .list(["account": .text, "paid": PaidTwiceText.shape]),
      "others": .list(.text), "refused_claims": .list(RefusedClaimText.shape),
      "deliveries": .list(EventText.shape), "delivery_count": .integer,
    ],
    run: { invocation in
      let text = QuotedText.plain(invocation[anything])
      guard !text.isEmpty else {
        throw CommandFailure(
          .usage, "find needs something to look for: a name, an id, a key or a number")
      }
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
        let result = try database.read { reader in
          let (key, bare) = (configuration.searchKey, QuotedText.bare(text))
          let result = try FindResult(text, at: now, ledger, key: key, reading: reader)
          guard result.isEmpty, bare != text, !bare.isEmpty else { return result }
          return try FindResult(bare, at: now, ledger, key: key, reading: reader)
        }
        let isPersonal = text.contains { $0 == "@" || $0.isWhitespace || !$0.isASCII }
        let keyless =
          isPersonal && configuration.searchKey == nil
          ? "e-mail addresses and names are not searched: COFFER_SEARCH_KEY is not set" : nil
        guard !result.isEmpty else {
          let bare = QuotedText.bare(text)
          if let bought = try ReceiptLookup(invocation, configuration).bought(by: bare) {
            let known = try bought.first.map { key in
              try database.read { reader in
                try FindResult(
                  key.description, at: now, ledger, key: configuration.searchKey, reading: reader)
              }
            }
            guard let known, !known.isEmpty else { throw ReceiptLookup.failure(bare, bought) }
            return Answer(text: known.text, json: known.json, notice: known.notice)
          }
          let otherKey =
            isPersonal
            ? "e-mail addresses and names are found only as a whole, under the COFFER_SEARCH_KEY they were stored with"
            : nil
          let advice = (keyless ?? otherKey).map { "; \($0)" } ?? ""
          throw CommandFailure(.refused, "nothing is known about \(Printable.text(text))\(advice)")
        }
        let notices = [keyless, result.notice].compactMap { $0 }
        return Answer(
          text: result.text, json: result.json,
          notice: notices.isEmpty ? nil : notices.joined(separator: "; "))
      }
    })
}

/// A text as someone copied it: with a label before it, quotation marks around it, spaces anywhere,
/// or within the address of a dashboard's page.
enum QuotedText {
  private static let labels: Set = [
    "acct", "account", "user", "username", "device", "key", "customer", "subscription", "invoice",
    "charge", "payment", "event", "transaction", "order", "token", "purchase", "email", "e-mail",
    "mailto", "id",
  ]

  static func plain(_ text: String) -> String {
    var text = trimmed(text[...])
    if let colon = text.firstIndex(of: ":") {
      let rest = text[text.index(after: colon)...]
      if rest.first?.isWhitespace == true || labels.contains(text[..<colon].lowercased()) {
        text = trimmed(rest)
      }
    }
    return String(text)
  }

  /// What to look for if nothing is called `plain`, which may be a name. It is the last part of an
  /// address, without a number sign and dots around it.
  static func bare(_ plain: String) -> String {
    var text = plain[...]
    if text.hasPrefix("https://") || text.hasPrefix("http://") {
      text = text.prefix { !"?#".contains($0) }.split(separator: "/").last ?? text
    }
    text = text.drop { ".…#".contains($0) }
    while let last = text.last, ".…".contains(last) { text.removeLast() }
    return String(text)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    func isLoose(_ character: Character) -> Bool {
      character.isWhitespace || "\"'`<>()[],;".contains(character)
    }
    var text = text.drop(while: isLoose)
    while let last = text.last, isLoose(last) { text.removeLast() }
    return text
  }
}

/// What a text names in the rows of both programs.
struct FindResult: Sendable {
  private let accounts: [FoundAccount]
  private let finding: Finding
  private let now: Instant
  /// The accounts that pay twice, in the order of `accounts`.
  private let twice: [(account: Identifier, paid: PaidTwice)]

  struct FoundAccount: Sendable {
    let id: Identifier
    /// Nil if there is no such account, or no longer one.
    let account: Account?
    let deleted: Instant?
    /// The progress of its deletion; nil if none was requested.
    let deletion: DeletionProgress?
    let by: String

    /// An account that was erased here still has a row.
    init(_ id: Identifier, by: String, _ ledger: Ledger, reading reader: Reader) throws {
      deletion = try DeletionProgress(of: id, reading: reader)
      self.id = id
      self.by = by
      account = deletion?.deletion.erased == nil ? try Account.find(reader, id) : nil
      deleted =
        if account != nil { nil } else if let deletion { deletion.erased } else {
          try Finding.Account(id, ledger, reading: reader)?.deleted
        }
    }
  }

  init(
    _ text: String, at now: Instant, _ ledger: Ledger, key: SearchKey?, reading reader: Reader
  ) throws {
    self.now = now
    var named = try Self.named(text, ledger, reading: reader)
    finding = try Finding(
      text, owners: named.map(\.id), at: now, of: ledger, key: key, reading: reader)
    func add(_ id: Identifier, by: String) throws {
      guard !named.contains(where: { $0.id == id }) else { return }
      named.append(try FoundAccount(id, by: by, ledger, reading: reader))
    }
    for account in finding.accounts { try add(account.id, by: "its id, in the ledger") }
    for subscription in finding.subscriptions {
      if let owner = subscription.owner { try add(owner, by: "owns \(subscription.key)") }
      for id in subscription.claimants { try add(id, by: "claims \(subscription.key)") }
      for owner in subscription.formerOwners {
        try add(owner.account, by: "owned \(subscription.key)")
      }
    }
    for other in finding.others {
      for id in other.claimants { try add(id, by: "claims \(other.key)") }
    }
    accounts = named
    twice = try named.compactMap { account in
      try PaidTwice(by: account.id, at: now, of: ledger, reading: reader).map { (account.id, $0) }
    }
  }

  /// The accounts that the text itself names.
  private static func named(
    _ text: String, _ ledger: Ledger, reading reader: Reader
  ) throws -> [FoundAccount] {
    var found: [FoundAccount] = []
    func add(_ account: Account?, by: String) throws {
      guard let account, !found.contains(where: { $0.id == account.id }) else { return }
      found.append(try FoundAccount(account.id, by: by, ledger, reading: reader))
    }
    if let id = Identifier(text) { try add(try Account.find(reader, id), by: "its id") }
    if let name = Username(text) { try add(try Account.find(reader, name), by: "its username") }
    let joined = text.filter { !$0.isWhitespace }
    for key in Set([Base64.standard.decode(joined), Base64.url.decode(joined), Hex.decode(joined)])
    {
      guard let key, key.count == 32, let found = try Device.find(reader, key) else { continue }
      try add(
        try Account.find(reader, found.account),
        by: found.device.revoked == nil ? "a key of its" : "a revoked key of its")
    }
    return found
  }

  /// A notice if there are more deliveries than are shown.
  var notice: String? {
    let shown = finding.deliveries.count
    guard shown < finding.deliveryTotal.count else { return nil }
    let all = "\(shown) of \(EventText.count(finding.deliveryTotal)) deliveries"
    let owners = Set(
      finding.subscriptions.compactMap { $0.owner ?? $0.formerOwners.first?.account })
    guard owners.count == 1, let owner = owners.first else { return all }
    return "\(all); coffer event list --account \(owner) lists them"
  }

  var isEmpty: Bool { accounts.isEmpty && finding.isEmpty }

  var text: String {
    var parts: [String] = []
    if !accounts.isEmpty {
      var table = Table(
        ("ACCOUNT", .left), ("USERNAME", .left), ("SINCE", .left), ("FOUND BY", .left))
      for found in accounts {
        let since =
          found.account.map { Terminal.time($0.created, now: now) }
          ?? found.deleted.map { "gone since \($0)" } ?? found.deletion?.text ?? "is no account"
        table.add(found.id.description, found.account?.username ?? "-", since, found.by)
      }
      parts.append("accounts\n" + EventText.indented(table))
    }
    if !twice.isEmpty {
      let lines = twice.map { account, paid in
        Prose.text(
          Printable.text("\(account): \(PaidTwiceText.sentence(paid))"), indent: "  ",
          width: ExplanationText.widthMax)
      }
      parts.append("pays twice\n" + lines.joined())
    }
    if !finding.subscriptions.isEmpty {
      var table = Table(
        ("PURCHASE", .left), ("STATE", .left), ("OWNER", .left), ("FOUND BY", .left))
      for found in finding.subscriptions {
        let owner =
          (found.owner?.description
            ?? (found.claimants.first.map { "nobody; claimed by \($0)" } ?? "nobody"))
          + (found.formerOwners.first.map { "; \($0.account) until \($0.until)" } ?? "")
        let by = found.by.filter { $0 != found.key }.map { "\($0.kind.rawValue) \($0.id)" }
        table.add(
          found.key.description, found.label.rawValue, owner,
          by.isEmpty ? "itself or its account" : by.prefix(3).joined(separator: ", "))
      }
      parts.append("purchases\n" + EventText.indented(table))
    }
    if !finding.others.isEmpty {
      parts.append(
        "known, and of no purchase\n"
          + EventText.indented(
            finding.others.map { Printable.text($0.key.description) + "\n" }.joined()))
    }
    if !finding.refusedClaims.isEmpty {
      parts.append(
        "refused claims\n"
          + EventText.indented(RefusedClaimText.table(finding.refusedClaims, at: now)))
    }
    if !finding.deliveries.isEmpty {
      parts.append(
        "deliveries\n" + EventText.indented(EventText.table(finding.deliveries, at: now)))
    }
    return parts.joined(separator: "\n")
  }

  var json: JSONValue {
    [
      "accounts": .array(
        accounts.map { found in
          [
            "account": .string(found.id.description), "exists": .bool(found.account != nil),
            "username": found.account?.username.map { .string($0) } ?? .null,
            "deleted": found.deleted.map { .string($0.description) } ?? .null,
            "deletion": found.deletion.map { .string($0.state.rawValue) } ?? .null,
            "by": .string(found.by),
          ]
        }),
      "purchases": .array(
        finding.subscriptions.map { found in
          [
            "subscription": .string(found.key.description), "state": .string(found.label.rawValue),
            "owner": found.owner.map { .string($0.description) } ?? .null,
            "former_owners": .array(
              found.formerOwners.map { former in
                [
                  "account": .string(former.account.description),
                  "until": .string(former.until.description),
                ]
              }),
            "claimants": .array(found.claimants.map { .string($0.description) }),
            "by": .array(found.by.map { .string($0.description) }),
          ]
        }),
      "paid_twice": .array(
        twice.map { account, paid in
          ["account": .string(account.description), "paid": PaidTwiceText.json(paid)]
        }),
      "others": .array(finding.others.map { .string($0.key.description) }),
      "refused_claims": .array(finding.refusedClaims.map(RefusedClaimText.json)),
      "deliveries": .array(finding.deliveries.map { .object(EventText.members($0)) }),
      "delivery_count": .integer(Int64(finding.deliveryTotal.count)),
    ]
  }
}
