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
  private static let plan = Parameter<String>.required(
    "--plan", "id", text: "the plan, as in coffer plan list", .note)
  private static let until = Parameter<Instant?>.optional(
    "--until", "time", text: "its end in UTC, e.g. 2027-01-01T00:00:00Z; without end if absent",
    .time)
  private static let grant = Parameter<Identifier>.required(
    "--grant", "id", text: "which grant", .uuid)
  private static let note = Parameter<String>.required(
    "--note", "text", text: "why, for whoever asks later", .note)
  private static let subscription = Parameter<ObjectKey>.required(
    "subscription", text: "its key", .subscription)
  private static let newOwner = Parameter<String>.required(
    "account", text: "the new owner's id or username", .text)
  private static let deletedAccount = Parameter<Identifier>.required(
    "account", text: "its id", .uuid(of: "the account"))

  static let entitlementGrant = Command(
    words: ["entitlement", "grant"],
    abstract: "Gives an account a plan, whatever anybody pays.",
    discussion: "The grant stands beside what the account has bought; the larger plan counts. "
      + "It is kept with its note and can be taken back with coffer entitlement revoke.",
    arguments: [CommonArguments.account],
    options: [plan, until, note],
    answers: ["grant": .text, "account": .text, "plan": .text, "until": .orNull(.time)],
    run: { invocation in
      let (plan, until, note) = (invocation[plan], invocation[until], invocation[note])
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        guard ledger.rules.catalogue.plan(plan) != nil else {
          throw CommandFailure(.refused, "there is no plan \(plan)")
        }
        if let until, until <= now {
          throw CommandFailure(.usage, "--until lies in the past")
        }
        let (account, decided) = try database.write(for: nil) { transaction in
          let account = try DatabaseSession.account(
            transaction, invocation[CommonArguments.account])
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
    arguments: [CommonArguments.account],
    options: [grant, note],
    answers: ["revoked": .text],
    run: { invocation in
      let (grant, note) = (invocation[grant], invocation[note])
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        try database.write(for: nil) { transaction in
          let account = try DatabaseSession.account(
            transaction, invocation[CommonArguments.account])
          let grants = try Grant.active(of: account.id, reading: transaction)
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
    arguments: [subscription, newOwner],
    options: [note],
    answers: ["subscription": .text, "account": .text],
    run: { invocation in
      let (key, note) = (invocation[subscription], invocation[note])
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        let account = try database.write(for: nil) { transaction in
          guard try ledger.knows(key, reading: transaction) else {
            throw CommandFailure(.refused, "nothing is known of \(key)")
          }
          let account = try DatabaseSession.account(transaction, invocation[newOwner])
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
    arguments: [deletedAccount],
    answers: ["released": .text],
    run: { invocation in
      let account = invocation[deletedAccount]
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
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
}

extension Form where Value == Instant {
  fileprivate static var time: Form {
    Form { (text, _) throws(CommandFailure) in
      if let moment = InstantText.parse(text) { return moment }
      throw CommandFailure(.usage, "\(text) is no time in UTC, e.g. 2027-01-01T00:00:00Z")
    }
  }
}

extension Form where Value == ObjectKey {
  fileprivate static var subscription: Form {
    Form { (text, _) throws(CommandFailure) in
      if let key = StoreList.known.subscriptionKey(text, in: .live) { return key }
      throw CommandFailure(
        .usage, "\(text) names no subscription, e.g. stripe:live:subscription:sub_1")
    }
  }
}
