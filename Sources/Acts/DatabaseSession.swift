package import Accounts
package import Base
package import CommandLine
package import Configuration
import KnownStores
package import Ledger
package import Storage
package import Sync

/// The database as a command uses it, open while `body` runs.
///
/// Only `coffer migrate` and the servers make or change a schema. To any other command, a missing
/// database is a mistyped path.
package enum DatabaseSession {
  /// For commands that read everything as of one moment. The time is longer than ten million accounts take.
  package static let wholeReads: DatabaseOptions = {
    var options = DatabaseOptions()
    options.readTime = .hours(1)
    return options
  }()

  /// Refuses a given catalogue that is not the one of record.
  package static func with<Result>(
    _ invocation: Invocation, owning schema: Schema = .sync,
    _ preparation: Database.Preparation = .requiresSchema,
    options: DatabaseOptions = DatabaseOptions(),
    _ body: (Database, DatabaseConfiguration) throws -> Result
  ) throws -> Result {
    try withAnyCatalogue(invocation, owning: schema, preparation, options: options) {
      database, given in
      var configuration = given
      try database.read { try configuration.settleCatalogue(reading: $0) }
      return try body(database, configuration)
    }
  }

  /// For commands that derive nothing. They use the catalogue of record, whichever was given.
  package static func withCatalogueOfRecord<Result>(
    _ invocation: Invocation, options: DatabaseOptions = DatabaseOptions(),
    _ body: (Database, DatabaseConfiguration) throws -> Result
  ) throws -> Result {
    try withAnyCatalogue(invocation, options: options) { database, given in
      var configuration = given
      try database.read { try configuration.takeCatalogueOfRecord(reading: $0) }
      return try body(database, configuration)
    }
  }

  /// For commands that compare catalogues or need none.
  package static func withAnyCatalogue<Result>(
    _ invocation: Invocation, owning schema: Schema = .sync,
    _ preparation: Database.Preparation = .requiresSchema,
    options: DatabaseOptions = DatabaseOptions(),
    _ body: (Database, DatabaseConfiguration) throws -> Result
  ) throws -> Result {
    let configuration = try DatabaseConfiguration(invocation.settings)
    let database = try Database.open(
      configuration.database, owning: schema, preparation, options: options)
    defer { database.close() }
    return try body(database, configuration)
  }

  /// For commands that answer from one snapshot.
  package static func read<Result>(
    _ invocation: Invocation, owning schema: Schema = .sync,
    _ body: (Reader, Instant) throws -> Result
  ) throws -> Result {
    try withAnyCatalogue(invocation, owning: schema) { database, configuration in
      let now = configuration.clock.now()
      return try database.read { try body($0, now) }
    }
  }

  /// For commands that decide about entitlements. Refuses if the servers derive under other rules.
  package static func withLedger<Result>(
    _ invocation: Invocation, _ body: (Database, Ledger, Instant) throws -> Result
  ) throws -> Result {
    try with(invocation, owning: .billing) { database, configuration in
      let ledger = Ledger(stores: .known, rules: LedgerRules(configuration), for: .command)
      try database.read { try ledger.requireServersRules(reading: $0) }
      return try body(database, ledger, configuration.clock.now())
    }
  }

  /// Finds the account of an act. Refuses one that is erased, or is being erased.
  package static func livingAccount(_ queryable: some Queryable, _ text: String) throws -> Account {
    let account = try account(queryable, text)
    let progress = try DeletionProgress(of: account.id, reading: queryable)
    if let erased = progress?.erased {
      throw CommandFailure(.refused, "account \(account.id) was erased on \(erased)")
    }
    if progress?.deletion.begun != nil {
      throw CommandFailure(.refused, "account \(account.id) is being erased")
    }
    return account
  }

  /// The same in a transaction that writes the account's rows, with its deletion if one was asked
  /// for. No other transaction changes either meanwhile.
  package static func lockedAccount(
    _ transaction: Transaction, _ text: String
  ) throws -> (account: Account, deletion: AccountDeletion?) {
    let id = try account(transaction, text).id
    let deletion = try AccountDeletion.locked(id, in: transaction)
    return (try livingAccount(transaction, id.description), deletion)
  }

  /// The account that the command names, in the same way.
  package static func lockedAccount(
    _ transaction: Transaction, _ invocation: Invocation
  ) throws -> (account: Account, deletion: AccountDeletion?) {
    try lockedAccount(transaction, invocation[CommonArguments.account])
  }

  /// The same for an act on an account that stays. Refuses one whose deletion was requested.
  package static func stayingAccount(
    _ transaction: Transaction, _ invocation: Invocation
  ) throws -> Account {
    let (account, deletion) = try lockedAccount(transaction, invocation)
    guard deletion == nil else {
      throw CommandFailure(
        .refused,
        "the deletion of \(account.id) was requested; coffer deletion cancel keeps the account")
    }
    return account
  }

  /// The account that an operator named by its id, a short form of it, or its username. A text with digits may be
  /// a store's number.
  package static func account(_ queryable: some Queryable, _ text: String) throws -> Account {
    if let id = Identifier(text) {
      guard let account = try Account.find(queryable, id) else {
        throw CommandFailure(.refused, "there is no account \(id)")
      }
      return account
    }
    let username = Username(text)
    let named = try username.flatMap { try Account.find(queryable, $0) }
    let matching = try ShortIdentifier(text).map {
      try Account.find(queryable, $0, limit: shortCountMax)
    }
    // A user may choose the beginning of another account's id as a username.
    let found = [named].compactMap { $0 } + (matching ?? []).filter { $0.id != named?.id }
    if found.count == 1 { return found[0] }
    guard found.isEmpty else {
      let ids = found.map(\.id.description).joined(separator: ", ")
      throw CommandFailure(.refused, "\(text) stands for more than one account: name one of \(ids)")
    }
    let isCode = text.contains { $0.isNumber }
    let advice = isCode ? "; if it is a number of a store, see coffer find \(text)" : ""
    guard let username else {
      let reason =
        matching == nil ? "is neither an account's id nor a username" : "is no account's id"
      throw CommandFailure(.refused, "\(text) \(reason)\(advice)")
    }
    throw CommandFailure(
      .refused, "there is no account with the username \(username.shown)\(advice)")
  }

  /// The most accounts that are named if a short id stands for several.
  private static let shortCountMax = 5
}
