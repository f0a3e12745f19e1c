package import Accounts
package import Base
package import CommandLine
package import JSON
package import Ledger
package import Storage
package import Subscriptions
package import Sync
import Tiers

/// What an account may store at a moment, and what it was given, as acts show it before and after.
package struct Holding {
  package let members: [JSONValue.Member]

  package init(
    _ account: Identifier, _ ledger: Ledger, at now: Instant, _ transaction: Transaction
  ) throws {
    let cap = try Cap(transaction, account, catalogue: ledger.rules.catalogue, now: now)
    let grants = try Grant.active(of: account, reading: transaction).filter { grant in
      grant.from <= now && grant.until.map { now < $0 } ?? true
    }
    let quota = try QuotaOverride.current(of: account, at: now, reading: transaction)
    let deletion = try AccountDeletion.find(account, reading: transaction)
    members =
      [
        .init("cap", .integer(cap.byteCount)), .init("plan", .string(cap.planID)),
        .init("reason", .string(cap.reason.rawValue)),
        .init("grants", .string(grants.map(Self.text).joined(separator: ", "))),
        .init("quota", quota.map { .integer($0.byteCount) } ?? .null),
        .init("quota_until", quota?.until.map { .string($0.description) } ?? .null),
      ]
      + (deletion?.ahead.map { [.init("leaving", .string($0))] } ?? [])
  }

  package var json: JSONValue { .object(members) }

  private static func text(_ grant: Grant) -> String {
    grant.planID + (grant.until.map { " until \($0)" } ?? "")
  }
}

extension Act {
  /// A decision about an account that is not erased, with what it holds before and after. `decide`
  /// returns the text that is printed once it is done, and the members.
  package func whenDecided(
    about name: String, _ ledger: Ledger,
    _ decide:
      @escaping @Sendable (Account, Transaction, Instant) throws -> (
        text: String, members: [JSONValue.Member]
      )
  ) throws -> Answer {
    try whenConfirmed { transaction, now in
      let account = try DatabaseSession.livingAccount(transaction, name)
      let before = try Holding(account.id, ledger, at: now, transaction).json
      let (text, members) = try decide(account, transaction, now)
      return Effect(
        subject: account.id.description, name: account.username, account: account.id,
        before: before, after: try Holding(account.id, ledger, at: now, transaction).json,
        text: text, members: members)
    }
  }
}

extension AccountDeletion {
  /// What is still to come of the deletion, for anyone who gives the account something; nil once it
  /// is erased.
  package var ahead: String? {
    guard erased == nil else { return nil }
    return erases.map { "erased from \($0) on" } ?? "erased once it was exported"
  }
}

/// The owner of a subscription, and the caps of the former and the new owner.
package struct Possession {
  package let owner: Identifier?
  package let json: JSONValue
  /// The names of the owners who have one: for people, not for the log.
  package let names: [Identifier: String]

  /// `former` is the previous owner, if another account owns it meanwhile.
  package init(
    of key: ObjectKey, from former: Identifier?, to account: Account, _ ledger: Ledger,
    at now: Instant, _ transaction: Transaction
  ) throws {
    let owner = try Ledger.owner(of: key, reading: transaction)
    self.owner = owner
    func cap(_ account: Identifier) throws -> JSONValue {
      let cap = try Cap(transaction, account, catalogue: ledger.rules.catalogue, now: now)
      return .string("\(ByteCount.text(cap.byteCount)) \(cap.planID) \(cap.reason.rawValue)")
    }
    let loser = former ?? owner
    var names = [account.id: account.shown]
    if let loser, let found = try Account.find(transaction, loser) { names[loser] = found.shown }
    self.names = names
    json = [
      "owner": owner.map { .string($0.description) } ?? "nobody",
      "cap_of_former_owner": try loser.map { try $0 == account.id ? .null : cap($0) } ?? .null,
      "cap_of_new_owner": try cap(account.id),
    ]
  }
}

extension Account {
  /// The account's id, with its name for people.
  package var shown: String { id.description + (username.map { " (\($0))" } ?? "") }
}
