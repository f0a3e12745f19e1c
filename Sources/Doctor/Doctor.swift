package import Acts
package import Backup
package import Base
import CommandLine
package import Configuration
import Crypto
import Ledger
package import Objects
import KnownProtocols
package import Storage
import Sync

/// The result of one check.
package struct Check: Sendable {
  package enum State: String {
    case ok, warning, failed
    /// Not checked; the text says why, or which option asks for it.
    case skipped
  }

  package let name: String
  package let state: State
  package let text: String
  /// What to do; empty if nothing.
  package let remedy: String
  /// Whether the text reports a repair.
  package let isRepair: Bool
  /// The first of the objects that are missing.
  package let missing: [ObjectAudit.Found.Item]

  package init(
    _ name: String, _ state: State, _ text: String, _ remedy: String = "", isRepair: Bool = false,
    missing: [ObjectAudit.Found.Item] = []
  ) {
    self.name = name
    self.state = state
    self.text = text
    self.remedy = remedy
    self.isRepair = isRepair
    self.missing = missing
  }
}

/// Checks an installation that is in use, or one that was just restored.
package struct Doctor {
  /// How much is checked, and whether safe repairs are made.
  package struct Extent {
    package var takesAll = false
    package var walksObjects = false
    package var isDeep = false
    /// The act that makes safe repairs; nil if everything stays as it is.
    package var fixing: Act?
    /// Whether a repair may reduce an account's space.
    package var shrinksCaps = false

    package init(walksObjects: Bool = false, isDeep: Bool = false) {
      self.walksObjects = walksObjects
      self.isDeep = isDeep
    }

    var fixes: Bool { fixing != nil }
  }

  package let database: Database
  package let configuration: DatabaseConfiguration
  /// Nil if it is not known where objects are stored.
  package let objects: (any ObjectStore)?
  package let extent: Extent
  /// Files of the configuration that only their owner may access.
  package let secretFiles: [String]
  package init(
    database: Database, configuration: DatabaseConfiguration, objects: (any ObjectStore)?,
    extent: Extent, secretFiles: [String] = []
  ) {
    self.database = database
    self.configuration = configuration
    self.objects = objects
    self.extent = extent
    self.secretFiles = secretFiles
  }

  package var now: Instant { configuration.clock.now() }

  package static let sampleCount = 200

  /// All checks except those of the stores, in the order in which they are reported.
  package func checks() -> [Check] {
    var checks = [schema, clock].map { $0() } + files()
    if let directory = sqliteDirectory { checks.append(integrity(directory)) }
    checks += [check("owners", owners), check("usage", usage)]
    checks += protocolRows()
    checks += [objectRows(), check("contents", contents), check("orphans", orphans)]
    if let pair = objects as? PairStore { checks.append(migration(pair)) }
    return checks + [check("leftovers", leftovers), check("drift", drift), check("keys", keys)]
  }

  /// The checks of a backup that was restored in order to check it.
  package func checksOfRestored() -> [Check] {
    var checks = [schema()]
    if let directory = sqliteDirectory { checks.append(integrity(directory)) }
    checks += [objectRows(), check("contents", contents), check("orphans", orphans)]
    return checks + [check("owners", owners), check("usage", usage), check("drift", drift)]
  }

  var sqliteDirectory: String? {
    if case .sqlite(let directory) = configuration.database { directory } else { nil }
  }

  /// Runs a check. One that cannot be carried out is a finding, too, and does not stop the others.
  package func check(_ name: String, _ body: () throws -> Check) -> Check {
    do {
      return try body()
    } catch {
      return Check(name, .failed, "it cannot be checked: \(CommandFailure(of: error).text)")
    }
  }

  /// A place somewhere among the accounts, whose ids are as good as random.
  func randomAccount() -> Identifier { Random.identifier() }

  /// Some of the accounts that `page` returns in the order of their ids. They start with a random
  /// one; after the last account comes the first, so that of few accounts all are included.
  package func sample(
    _ page: (_ behind: Identifier, _ limit: Int) throws -> [Identifier]
  ) rethrows -> [Identifier] {
    let start = randomAccount()
    let found = try page(start, Self.sampleCount)
    let rest = try page(Identifier(high: 0, low: 0), Self.sampleCount - found.count)
    return found + rest.prefix { $0 <= start }
  }

  private func schema() -> Check {
    check("schema") {
      let missing = try database.missingParts()
      guard let first = missing.first else {
        return Check("schema", .ok, "all tables and unique indexes of its version are there")
      }
      let more = missing.count - 1
      return Check(
        "schema", .failed, "gone: \(first)\(more > 0 ? " and \(more) more" : "")",
        "coffer restore an earlier backup: the content of a missing table is lost")
    }
  }

  /// If clocks differ by more, signatures of requests begin to be refused.
  private static let clockDifferenceMax = Instant.Span.seconds(60)

  private func clock() -> Check {
    check("clock") {
      if case .postgres = configuration.database {
        let server = try database.read { reader in
          try reader.first(
            "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
          ) { row in try row.instant(0) }
        }
        let difference = abs((Clock.system.now() - (server ?? .distantPast)).milliseconds)
        if difference > Self.clockDifferenceMax.milliseconds {
          return Check(
            "clock", .failed, "it is \(difference / 1000) s apart from the database's",
            "synchronize all machines with NTP")
        }
      }
      let newest = try database.read { reader in
        try [
          "SELECT created_ms FROM sync.accounts ORDER BY created_ms DESC, id DESC LIMIT 1",
          "SELECT received_ms FROM billing.deliveries ORDER BY id DESC LIMIT 1",
        ].compactMap { query in try reader.first(query) { row in try row.instant(0) } }
      }.max()
      if let newest, newest > now + Self.clockDifferenceMax {
        return Check(
          "clock", .failed, "the newest row is from the future: \(newest)",
          "synchronize all machines with NTP")
      }
      return Check("clock", .ok, "it is \(Instant(seconds: now.seconds)), and no row is newer")
    }
  }

  // MARK: What is charged and owed

  /// A smaller number may all be mistakes: a purchase may name any account.
  private static let strangerCountMin = 10

  /// Checks that both schemas are of one installation and one moment: every account that is owed
  /// something exists.
  private func owners() throws -> Check {
    var (checked, strange, first) = (0, 0, Identifier?.none)
    func look(_ page: [Identifier]) throws {
      checked += page.count
      let unknown = try strangers(among: page)
      strange += unknown.count
      first = first ?? unknown.first
    }
    if extent.takesAll {
      var page = try owed(behind: Identifier(high: 0, low: 0), Self.sampleCount)
      while let last = page.last {
        try look(page)
        page = try owed(behind: last, Self.sampleCount)
      }
    } else {
      try look(try sample(owed))
    }
    guard checked > 0 else { return try checkBilling() }
    let what = "\(counted(checked, "account"))\(sampleText) with entitlements"
    guard let first else { return Check("owners", .ok, "known to sync: \(what)") }
    let text = "unknown to sync: \(Int64(strange).grouped) of \(what), the first is \(first)"
    return strange == checked && strange >= Self.strangerCountMin
      ? Check(
        "owners", .failed, text,
        "restore both halves of the database from one backup: they are from two installations")
      : Check(
        "owners", .warning, text,
        "coffer attention lists them (unknown_account), coffer find \(first) shows who named it; if it "
          + "existed before, the rows of sync are older than those of billing")
  }

  /// The result if nothing is owed to anyone. If accounts exist, either no one has paid yet, or all
  /// payments were lost with their schema.
  private func checkBilling() throws -> Check {
    func hasRow(_ table: String) throws -> Bool {
      try database.read { reader in
        try reader.first("SELECT 1 FROM \(table) LIMIT 1") { _ in true } ?? false
      }
    }
    let hasBilled = try hasRow("billing.rules_in_force") || hasRow("billing.deliveries")
    return try hasRow("sync.accounts") && !hasBilled
      ? Check(
        "owners", .warning, "there are accounts, but coffer-billing has never run here",
        "start it; if it ran before, its half of the database is lost: restore both from one backup"
      )
      : Check("owners", .skipped, "billing has granted nothing")
  }

  private func owed(behind account: Identifier, _ limit: Int) throws -> [Identifier] {
    try database.read { reader in
      try reader.rows(
        """
        SELECT DISTINCT account_id FROM billing.entitlements WHERE account_id > $1
        ORDER BY account_id LIMIT $2
        """, .id(account), .integer(limit)
      ) { row in try row.id(0) }
    }
  }

  /// The owners that are neither existing nor deleted accounts.
  private func strangers(among owners: [Identifier]) throws -> [Identifier] {
    var known: Set<Identifier> = []
    for list in SQLList.slices(of: owners.map { .id($0) }, after: 0) {
      for (table, id) in [("accounts", "id"), ("account_deletions", "account_id")] {
        known.formUnion(
          try database.read { reader in
            try reader.rows(
              "SELECT \(id) FROM sync.\(table) WHERE \(id) IN (\(list.parameters))",
              values: list.values
            ) { row in try row.id(0) }
          })
      }
    }
    return owners.filter { !known.contains($0) }
  }

  private func usage() throws -> Check {
    let recount = Recount(
      database, catalogue: configuration.catalogue, protocols: KnownProtocols.all)
    var (checked, wrong, first) = (0, 0, Identifier?.none)
    try accounts("recounting") { account in
      checked += 1
      guard let finding = try recount.audit(account), !finding.isRight else { return }
      wrong += 1
      first = first ?? account
      if let act = extent.fixing { _ = try recount.correct(account, noting: act, at: now) }
    }
    guard checked > 0 else { return Check("usage", .skipped, "there is no account") }
    let what = "\(counted(checked, "account"))\(sampleText)"
    guard let first else { return Check("usage", .ok, "\(what) charged correctly") }
    let some = "\(Int64(wrong).grouped) of \(what)"
    return extent.fixes
      ? Check("usage", .ok, "\(some) put right", isRepair: true)
      : Check(
        "usage", .failed, "\(some) charged wrongly, the first is \(first)",
        "coffer usage recount --all, with the servers' COFFER_PLANS")
  }

  var sampleText: String { extent.takesAll ? "" : " of a sample" }

  /// Runs `body` for all accounts, or for some from a random one on.
  func accounts(_ what: String, _ body: (Identifier) throws -> Void) throws {
    guard !extent.takesAll else {
      try AccountWalk.each(what, of: database) { account, _ in try body(account) }
      return
    }
    let some = try sample { try AccountWalk.page(behind: $0, limit: $1, of: database) }
    for account in some { try body(account) }
  }

  private static let keyAgeMax = Instant.Span.days(366)

  private func keys() throws -> Check {
    guard let keys = configuration.sealingKeys else {
      return Check("keys", .skipped, "COFFER_SEALING_KEYS is not set here")
    }
    let (latest, since) = try database.read { reader in
      (
        try KeptDelivery.sealed(by: keys, reading: reader),
        try KeptDelivery.firstKeySeals(keys, reading: reader).map { seals in
          // Resealing replaced the first seals that older keys had made.
          max(seals, try ResealLog.last(reading: reader) ?? seals)
        }
      )
    }
    guard let latest else { return Check("keys", .ok, "nothing is sealed yet") }
    guard latest.keyIndex != nil else {
      return Check(
        "keys", .failed,
        "the newest delivery is sealed with a key that is not in COFFER_SEALING_KEYS",
        "append the key that coffer-billing seals with")
    }
    guard let since else {
      return Check("keys", .ok, "the first sealing key has sealed nothing yet")
    }
    let text = "the first sealing key seals since \(Instant(seconds: since.seconds))"
    return since < now - Self.keyAgeMax
      ? Check("keys", .warning, text, "rotate it: \(Advice.sealingKeyRotation.text)")
      : Check("keys", .ok, text)
  }
}
