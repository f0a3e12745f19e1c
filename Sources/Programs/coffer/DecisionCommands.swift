internal import Base
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Stores
internal import Subscriptions
internal import Sync
internal import Tiers

extension Command {
  private static let note = Option(
    name: "--note", value: "text", text: "why, for whoever asks later (required)")

  static let entitlementGrant = Command(
    words: ["entitlement", "grant"],
    abstract: "Gives an account a plan, whatever anybody pays.",
    discussion: "The grant stands beside what the account has bought; the larger plan counts. "
      + "It is kept with its note and can be taken back with coffer entitlement revoke.",
    arguments: [Argument(name: "account", text: "its id or its username")],
    options: [
      Option(name: "--plan", value: "id", text: "the plan, as in coffer plan list (required)"),
      Option(
        name: "--until", value: "time",
        text: "its end in UTC, e.g. 2027-01-01T00:00:00Z; without end if absent"),
      note,
    ],
    run: { invocation in
      let plan = try required(invocation, "--plan")
      let note = try required(invocation, "--note")
      let until = try invocation.option("--until").map { try moment($0) }
      return try Store.withLedger(invocation) { database, ledger, now in
        guard ledger.rules.catalogue.plan(plan) != nil else {
          throw CommandFailure(.refused, "there is no plan \(plan)")
        }
        if let until, until <= now {
          throw CommandFailure(.usage, "--until lies in the past")
        }
        let (account, decided) = try database.write(for: nil) { transaction in
          let account = try Store.account(transaction, invocation.argument("account"))
          return (
            account.id,
            try ledger.decide(
              .grant(account.id, planID: plan, from: now, until: until, note: note), at: now,
              in: transaction)
          )
        }
        return Answer(
          text: "grant  \(decided.id)\n",
          json: [
            "grant": .string(decided.id.description), "account": .string(account.description),
            "plan": .string(plan), "until": until.map { .string($0.description) } ?? .null,
          ])
      }
    })

  static let entitlementRevoke = Command(
    words: ["entitlement", "revoke"],
    abstract: "Takes a grant back from now on.",
    discussion: "What the account has bought stays untouched; coffer entitlement explain lists "
      + "its grants.",
    arguments: [Argument(name: "account", text: "its id or its username")],
    options: [Option(name: "--grant", value: "id", text: "which grant (required)"), note],
    run: { invocation in
      let text = try required(invocation, "--grant")
      let note = try required(invocation, "--note")
      guard let grant = Identifier(text) else {
        throw CommandFailure(.usage, "--grant takes a UUID")
      }
      return try Store.withLedger(invocation) { database, ledger, now in
        try database.write(for: nil) { transaction in
          let account = try Store.account(transaction, invocation.argument("account"))
          let grants = try Grant.standing(of: account.id, reading: transaction)
          guard grants.contains(where: { $0.id == grant }) else {
            throw CommandFailure(.refused, "account \(account.id) has no grant \(grant)")
          }
          try ledger.decide(
            .ungrant(account.id, grant: grant, note: note), at: now, in: transaction)
        }
        return Answer(
          text: "revoked  \(grant)\n", json: ["revoked": .string(grant.description)])
      }
    })

  static let subscriptionTransfer = Command(
    words: ["subscription", "transfer"],
    abstract: "Makes an account the owner of a subscription.",
    discussion: "An admin's transfer outweighs the provider's own token and every claim, until "
      + "the next one. It is kept with its note. Subscriptions are named as coffer entitlement "
      + "explain names them, e.g. stripe:live:subscription:sub_1.",
    arguments: [
      Argument(name: "subscription", text: "its key"),
      Argument(name: "account", text: "the new owner's id or username"),
    ],
    options: [note],
    run: { invocation in
      let note = try required(invocation, "--note")
      let text = invocation.argument("subscription")
      guard let key = StoreList.known.subscriptionKey(text, in: .live) else {
        throw CommandFailure(
          .usage, "\(text) names no subscription, e.g. stripe:live:subscription:sub_1")
      }
      return try Store.withLedger(invocation) { database, ledger, now in
        let account = try database.write(for: nil) { transaction in
          guard try ledger.knows(key, reading: transaction) else {
            throw CommandFailure(.refused, "nothing is known of \(key)")
          }
          let account = try Store.account(transaction, invocation.argument("account"))
          try ledger.decide(.transfer(account.id, key, note: note), at: now, in: transaction)
          return account.id
        }
        return Answer(
          text: "\(key) belongs to \(account)\n",
          json: [
            "subscription": .string(key.description), "account": .string(account.description),
          ])
      }
    })

  static let subscriptionRelease = Command(
    words: ["subscription", "release"],
    abstract: "Takes every subscription from an account that was deleted.",
    discussion: "They become nobody's and stay so: no older claim comes back. Another account "
      + "may claim them, and coffer subscription transfer gives them to one. Only the provider "
      + "can stop the charges.",
    arguments: [Argument(name: "account", text: "its id")],
    run: { invocation in
      guard let account = Identifier(invocation.argument("account")) else {
        throw CommandFailure(.usage, "the account is named by its id, a UUID")
      }
      return try Store.withLedger(invocation) { database, ledger, now in
        try database.write(for: nil) { transaction in
          if try Account.find(transaction, account) != nil {
            throw CommandFailure(.refused, "account \(account) still exists")
          }
          guard try ledger.knows(account, reading: transaction) else {
            throw CommandFailure(.refused, "nothing was ever owned by or given to \(account)")
          }
          try ledger.decide(.accountDeleted(account), at: now, in: transaction)
        }
        return Answer(
          text: "\(account) owns nothing any more\n",
          json: ["released": .string(account.description)])
      }
    })

  private static func required(
    _ invocation: Invocation, _ option: String
  ) throws(CommandFailure) -> String {
    guard let text = invocation.option(option), !text.isEmpty else {
      throw CommandFailure(.usage, "\(option) is required")
    }
    guard text.utf8.count <= 1000 else { throw CommandFailure(.usage, "\(option) is too long") }
    return text
  }

  private static func moment(_ text: String) throws(CommandFailure) -> Instant {
    guard let moment = InstantText.parse(text) else {
      throw CommandFailure(.usage, "\(text) is no time in UTC, e.g. 2027-01-01T00:00:00Z")
    }
    return moment
  }
}
