import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Subscriptions
import Sync
import Tiers

extension Command {
  private static let plan = Parameter<String>.required(
    "--plan", "id", text: "plan id, as in coffer plan list", .text)
  private static let until = Parameter<StatedTime?>.optional(
    "--until", "time",
    text: "end in UTC: 2027-01-01T10:00:00Z, 2027-01-01 or 30d (default: no end)", .end)
  private static let grant = Parameter<Identifier>.required(
    "--grant", "id", text: "grant id, as in coffer entitlement explain", .uuid)
  private static let subscription = Parameter<NamedSubscription>.required(
    "subscription", text: NamedSubscription.help, .subscription)
  private static let newOwner = Parameter<String>.required(
    "account", text: "new owner's account id or username", .text)
  private static let deletedAccount = Parameter<Identifier>.required(
    "account", text: "its id", .uuid(of: "the account"))

  static let entitlementGrant = Command(
    words: ["entitlement", "grant"],
    abstract: "Grant an account a plan, independent of payments",
    discussion: """
      If the account also has a paid plan, the larger one applies. The grant and its reason are recorded. \
      Revoke it with coffer entitlement revoke.
      """,
    examples: [
      "coffer entitlement grant ada --plan premium --until 30d --reason \"beta tester\" --yes"
    ],
    arguments: [CommonArguments.account],
    options: [plan, until] + Act.options,
    answers: Act.answers([
      "grant": .text, "account": .text, "plan": .text, "until": .orNull(.time),
    ]),
    run: { invocation in
      let plan = invocation[plan]
      let reason = invocation[Act.reason]
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        guard ledger.rules.catalogue.plan(plan) != nil else {
          throw CommandFailure(.refused, "there is no plan \(plan)")
        }
        let until = try invocation.end(until, at: now)
        return try Act(invocation, on: database).whenDecided(
          about: invocation[CommonArguments.account], ledger
        ) { account, transaction, now in
          try requireAnother(plan, until, for: account.id, ledger, transaction)
          let id = try ledger.decide(
            .grant(account.id, planID: plan, from: now, until: until, note: reason), at: now,
            in: transaction
          ).id
          return (
            "grant  \(id)\n",
            [
              .init("grant", .string(id.description)),
              .init("account", .string(account.id.description)), .init("plan", .string(plan)),
              .init("until", until.map { .string($0.description) } ?? .null),
            ]
          )
        }
      }
    })

  /// Refuses a grant that gives nothing: the plan that everyone has, or one that was already granted.
  private static func requireAnother(
    _ plan: String, _ until: Instant?, for account: Identifier, _ ledger: Ledger,
    _ transaction: Transaction
  ) throws {
    guard plan != ledger.rules.catalogue.free.id else {
      throw CommandFailure(.refused, "every account has the plan \(plan)")
    }
    let same = try Grant.active(of: account, reading: transaction).first { grant in
      grant.planID == plan && grant.until == until && !grant.isRevoked
    }
    guard let same else { return }
    let end = until.map { "until \($0)" } ?? "without end"
    throw CommandFailure(.refused, "account \(account) has \(plan) \(end): grant \(same.id)")
  }

  static let entitlementRevoke = Command(
    words: ["entitlement", "revoke"],
    abstract: "Revoke a grant, effective immediately",
    discussion: """
      Purchases of the account are not affected. coffer entitlement explain lists its grants.
      """,
    examples: ["coffer entitlement revoke ada --grant <id> --reason \"beta is over\" --yes"],
    arguments: [CommonArguments.account],
    options: [grant] + Act.options,
    answers: Act.answers(["revoked": .text]),
    run: { invocation in
      let (grant, reason) = (invocation[grant], invocation[Act.reason])
      return try DatabaseSession.withLedger(invocation) { database, ledger, _ in
        try Act(invocation, on: database).whenDecided(
          about: invocation[CommonArguments.account], ledger
        ) { account, transaction, now in
          let grants = try Grant.active(of: account.id, reading: transaction)
          guard let held = grants.first(where: { $0.id == grant }) else {
            throw CommandFailure(.refused, "account \(account.id) has no grant \(grant)")
          }
          if let end = held.until, end <= now {
            throw CommandFailure(
              .refused,
              held.isRevoked
                ? "grant \(grant) was revoked on \(end)" : "grant \(grant) ended on \(end)")
          }
          try ledger.decide(
            .ungrant(account.id, grant: grant, note: reason), at: now, in: transaction)
          return ("revoked  \(grant)\n", [.init("revoked", .string(grant.description))])
        }
      }
    })

  static let subscriptionTransfer = Command(
    words: ["subscription", "transfer"],
    abstract: "Make an account the owner of a subscription",
    discussion: """
      An operator's transfer takes precedence over the store's own token and over every claim, until the \
      next transfer. It is recorded with its reason.

      At Google Play a change of plan is a new purchase, which belongs to the account that its token \
      names. At a BTCPay server, all payments of an existing account are one purchase, which cannot be \
      transferred: grant the other account time with coffer entitlement grant instead.
      """,
    examples: ["coffer subscription transfer sub_1Qx8y ada --reason \"ticket 4711\" --yes"],
    arguments: [subscription, newOwner],
    options: Act.options,
    answers: Act.answers(["subscription": .text, "account": .text]),
    run: { invocation in
      let (named, reason) = (invocation[subscription], invocation[Act.reason])
      return try DatabaseSession.withLedger(invocation) { database, ledger, _ in
        try Act(invocation, on: database).whenConfirmed { transaction, now in
          let key = try named.known(to: ledger, reading: transaction)
          let account = try DatabaseSession.livingAccount(transaction, invocation[newOwner])
          // Its stores would stop billing whatever it got.
          guard try AccountDeletion.find(account.id, reading: transaction) == nil else {
            throw CommandFailure(
              .refused,
              "account \(account.shown) is being deleted; coffer deletion cancel keeps it"
            )
          }
          try requireSeparable(key, from: account, transaction)
          let before = try Possession(of: key, from: nil, to: account, ledger, at: now, transaction)
          guard before.owner != account.id else {
            throw CommandFailure(.refused, "account \(account.shown) owns it already")
          }
          try ledger.decide(.transfer(account.id, key, note: reason), at: now, in: transaction)
          let after = try Possession(
            of: key, from: before.owner, to: account, ledger, at: now, transaction)
          return Act.Effect(
            subject: key.description, account: account.id, formerAccount: before.owner,
            names: before.names, before: before.json, after: after.json,
            text: "\(key) belongs to \(account.id)\n",
            members: [
              .init("subscription", .string(key.description)),
              .init("account", .string(account.id.description)),
            ])
        }
      }
    })

  /// Refuses to transfer what another existing account pays for, now and later.
  private static func requireSeparable(
    _ key: ObjectKey, from heir: Account, _ transaction: Transaction
  ) throws {
    let traits = try StoreList.known.store(of: key).traits
    guard traits.isNamedByAccount, let payer = Identifier(key.id), payer != heir.id,
      let living = try Account.find(transaction, payer),
      try AccountDeletion.find(payer, reading: transaction)?.erased == nil
    else { return }
    throw CommandFailure(
      .refused,
      "\(key) is whatever \(living.shown) pays at \(traits.title), later payments too: coffer entitlement "
        + "grant \(heir.id) --plan <id> --until <time> gives time for it")
  }

  static let subscriptionRelease = Command(
    words: ["subscription", "release"],
    abstract: "Take every subscription from a deleted account",
    discussion: """
      The subscriptions then have no owner; earlier claims stay void. Another account can claim them, or \
      you can assign them with coffer subscription transfer. Only the store can stop the charges.
      """,
    examples: ["coffer subscription release <account-id> --reason \"ticket 4711\" --yes"],
    arguments: [deletedAccount],
    options: Act.options,
    answers: Act.answers(["released": .text]),
    run: { invocation in
      let account = invocation[deletedAccount]
      return try DatabaseSession.withLedger(invocation) { database, ledger, _ in
        try Act(invocation, on: database).whenConfirmed { transaction, now in
          let deletion = try AccountDeletion.find(account, reading: transaction)
          if try Account.find(transaction, account) != nil, deletion?.erased == nil {
            throw CommandFailure(.refused, "account \(account) still exists")
          }
          guard try ledger.knows(account, reading: transaction) else {
            throw CommandFailure(.refused, "\(account) never owned or was granted anything")
          }
          func state() throws -> JSONValue {
            let count = try Ledger.ownedCount(by: account, reading: transaction)
            return .object(
              [.init("subscriptions", .integer(count))]
                + (try Holding(account, ledger, at: now, transaction).members))
          }
          let before = try state()
          try ledger.decide(.accountDeleted(account), at: now, in: transaction)
          let after = try state()
          guard before != after else {
            throw CommandFailure(.refused, "\(account) owns nothing and has no grants")
          }
          return Act.Effect(
            subject: account.description, account: account, before: before, after: after,
            text: "\(account) no longer owns anything\n",
            members: [.init("released", .string(account.description))])
        }
      }
    })
}
