internal import Backup
internal import Base
internal import Configuration
internal import Crypto
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Subscriptions
internal import Sync

/// One thing that was looked at.
struct Check: Sendable {
  enum State: String {
    case ok, warning, failed
    /// Not looked at; the text says why, or which option asks for it.
    case skipped
  }

  /// The JSON of several.
  static let shape: JSONShape = [
    "failed": .integer,
    "checks": .list(["name": .text, "state": .text, "text": .text, "remedy": .text]),
  ]

  let name: String
  let state: State
  let text: String
  /// What somebody should do; empty where nothing.
  var remedy = ""

  var json: JSONValue {
    [
      "name": .string(name), "state": .string(state.rawValue), "text": .string(text),
      "remedy": .string(remedy),
    ]
  }

  init(_ name: String, _ state: State, _ text: String, _ remedy: String = "") {
    self.name = name
    self.state = state
    self.text = text
    self.remedy = remedy
  }
}

/// Looks at an installation that is in use, or at one that was just restored.
struct Doctor {
  /// How much is looked at, and whether what is safe is put right.
  struct Extent {
    var takesAll = false
    var walksObjects = false
    var isDeep = false
    /// What puts right what is safe; nil where all stays as it is.
    var fixing: Act?

    var fixes: Bool { fixing != nil }
  }

  let database: Database
  let configuration: DatabaseConfiguration
  /// Nil where nobody said where objects lie.
  let objects: ObjectStore?
  let extent: Extent
  var now: Instant { configuration.clock.now() }

  private static let sampleCount = 200

  /// Everything but the stores, in the order in which it is told.
  func checks() -> [Check] {
    var checks = [schema, clock].map { $0() } + files()
    if let directory = sqliteDirectory { checks.append(integrity(directory)) }
    checks += [check("usage", usage), objectRows(), check("orphans", orphans)]
    return checks + [check("leftovers", leftovers), check("drift", drift), check("keys", keys)]
  }

  /// What is to be known of a backup that was restored to be looked at.
  func checksOfRestored() -> [Check] {
    var checks = [schema()]
    if let directory = sqliteDirectory { checks.append(integrity(directory)) }
    return checks
      + [objectRows(), check("orphans", orphans), check("usage", usage), check("drift", drift)]
  }

  var sqliteDirectory: String? {
    if case .sqlite(let directory) = configuration.database { directory } else { nil }
  }

  /// What fails to be looked at is a finding, too, and keeps nobody from the rest.
  func check(_ name: String, _ body: () throws -> Check) -> Check {
    do {
      return try body()
    } catch {
      return Check(name, .failed, "it cannot be looked at: \(Entry.failure(of: error).text)")
    }
  }

  /// Somewhere among accounts, whose ids are as good as random.
  func randomAccount() -> Identifier { Random.identifier() }

  private func schema() -> Check {
    check("schema") {
      try database.read { reader in
        for schema in Schema.allCases {
          _ = try reader.first("SELECT count(*) FROM \(schema).migrations") { row in
            try row.integer(0)
          }
        }
      }
      return Check("schema", .ok, "it is of this version, and answers")
    }
  }

  /// More than this apart, signatures of requests begin to be refused.
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
            "have all machines take their time from NTP")
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
          "clock", .failed, "the newest row is of \(newest), which is yet to come",
          "have all machines take their time from NTP")
      }
      return Check("clock", .ok, "it is \(Instant(seconds: now.seconds)), and no row is newer")
    }
  }

  // MARK: What is charged and owed

  private func usage() throws -> Check {
    let recount = Recount(database, catalogue: configuration.catalogue)
    var (checked, wrong, first) = (0, 0, Identifier?.none)
    try accounts { account in
      checked += 1
      guard let finding = try recount.audit(account), !finding.isRight else { return }
      wrong += 1
      first = first ?? account
      if let act = extent.fixing { _ = try recount.correct(account, noting: act, at: now) }
    }
    guard let first else {
      return Check(
        "usage", .ok,
        "\(counted(checked, "account"))\(sampleText) charged what the files weigh")
    }
    return extent.fixes
      ? Check(
        "usage", .ok, "\(wrong) of \(counted(checked, "account"))\(sampleText) put right")
      : Check(
        "usage", .failed,
        "\(wrong) of \(counted(checked, "account"))\(sampleText) charged wrongly, the first is \(first)",
        "coffer usage recount --all, with the servers' COFFER_PLANS")
  }

  private var sampleText: String { extent.takesAll ? "" : " of a sample" }

  /// All accounts, or some from a random one on.
  private func accounts(_ body: (Identifier) throws -> Void) throws {
    guard !extent.takesAll else {
      return try AccountWalk.each("recounting", of: database, body)
    }
    for account in try AccountWalk.page(
      behind: randomAccount(), limit: Self.sampleCount, of: database)
    {
      try body(account)
    }
  }

  private func drift() throws -> Check {
    let ledger = Ledger(stores: .known, rules: LedgerRules(configuration), for: .command)
    if let why = try database.read({ try ledger.whyNoDrift(reading: $0) }) {
      return Check("drift", .warning, why, "give this command coffer-billing's settings")
    }
    var drift = Ledger.Drift()
    let progress = Progress("deriving", .count(of: "subscriptions"))
    if extent.takesAll {
      var last: String? = ""
      while let after = last {
        last = try database.read { reader in
          try ledger.compare(&drift, after: after, limit: Self.sampleCount, reading: reader)
        }
        progress.done = drift.checkedCount
      }
    } else {
      let start = randomAccount()
      try database.read { reader in
        try ledger.compare(&drift, from: start, limit: Self.sampleCount, reading: reader)
      }
    }
    let what = "\(drift.checkedCount) subscriptions\(sampleText)"
    guard drift.differingCount > 0 else {
      return Check("drift", .ok, "\(what) and their schedules follow from their facts")
    }
    let first = drift.subscriptions.first?.description ?? drift.accounts.first?.description ?? ""
    return Check(
      "drift", .failed,
      "\(drift.differingCount) rows of \(what) differ from what their facts say, the first is \(first)",
      "report it; coffer subscription read has one read and derived again")
  }

  private static let keyAgeMax = Instant.Span.days(366)

  private func keys() throws -> Check {
    guard let keys = configuration.sealingKeys else {
      return Check("keys", .skipped, "COFFER_SEALING_KEYS is not given here")
    }
    let (latest, since) = try database.read { reader in
      (
        try KeptDelivery.sealed(by: keys, reading: reader),
        try KeptDelivery.firstKeySeals(keys, reading: reader)
      )
    }
    guard let latest else { return Check("keys", .ok, "nothing is sealed yet") }
    guard latest.keyIndex != nil else {
      return Check(
        "keys", .failed,
        "the newest delivery is sealed with a key that is not in COFFER_SEALING_KEYS",
        "add the key that coffer-billing seals with, behind the first")
    }
    guard let since else {
      return Check("keys", .ok, "the first sealing key has sealed nothing yet")
    }
    let text = "the first sealing key seals since \(Instant(seconds: since.seconds))"
    return since < now - Self.keyAgeMax
      ? Check("keys", .warning, text, "put a new key before it, and keep it")
      : Check("keys", .ok, text)
  }
}
