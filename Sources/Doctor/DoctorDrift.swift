import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Repair
import Storage
import Subscriptions

/// Checks that subscriptions and schedules follow from what is stored of them.
extension Doctor {
  package func drift() throws -> Check {
    let ledger = Ledger(stores: .known, rules: LedgerRules(configuration), for: .command)
    switch try database.read({ try ledger.whyIncomparable(reading: $0) }) {
    case .otherRules:
      return Check(
        "drift", .warning,
        "this command was given other rules than coffer-billing, so nothing was compared",
        "give this command coffer-billing's settings")
    case .unfinished:
      return Check(
        "drift", .warning,
        "nothing was compared, because not all subscriptions are derived under the current rules yet",
        "a running coffer-billing completes it within a minute; otherwise run "
          + "coffer plan apply <file> --yes")
    case nil: break
    }
    var (checked, schedules, differing, first) = (Int64(0), Int64(0), Int64(0), String?.none)
    var left = Left()
    try drifts(ledger) { drift in
      checked += drift.checkedCount
      schedules += drift.checkedScheduleCount
      differing += drift.differingCount
      first =
        first ?? drift.subscriptions.first.map { "the subscription \($0.id)" }
        ?? drift.accounts.first.map { "the schedule of the account \($0)" }
      if let act = extent.fixing, drift.differingCount > 0 {
        try repair(drift, ledger, act, &left)
      }
    }
    guard checked + schedules > 0 else {
      return Check("drift", .skipped, "there is no subscription and no schedule to derive")
    }
    let what =
      "\(counted(checked, "subscription")) and \(counted(schedules, "schedule"))\(sampleText)"
    guard let first else { return Check("drift", .ok, "as the facts say: \(what)") }
    let text = "\(counted(differing, "row")) of \(what), the first is \(first)"
    guard extent.fixes else {
      return Check(
        "drift", .failed, "not as the facts say: \(text)",
        "report it; coffer doctor --all --fix derives it again unless a cap would shrink")
    }
    guard left.count > 0 else {
      return Check("drift", .ok, "derived again: \(text)", isRepair: true)
    }
    let repaired = differing - left.count
    return Check(
      "drift", .failed,
      (repaired > 0 ? "derived again: \(counted(repaired, "row")); " : "")
        + "left, because a cap would shrink: \(left.text)",
      "coffer entitlement explain shows what each bought, coffer subscription read asks the store "
        + "again; if the facts are right, run coffer doctor --all --fix --shrink",
      isRepair: repaired > 0)
  }

  /// The rows that were not repaired, because an account would have less space.
  private struct Left {
    private(set) var count: Int64 = 0
    private var named: [String] = []

    private static let namedCountMax = 10

    mutating func add(_ shrinkage: Ledger.Shrinkage) {
      count += 1
      guard named.count < Self.namedCountMax else { return }
      let caps = [shrinkage.before, shrinkage.after].map { ByteCount.text($0) }
      named.append("\(shrinkage.account) from \(caps[0]) to \(caps[1])")
    }

    var text: String {
      let more = count - Int64(named.count)
      return named.joined(separator: ", ") + (more > 0 ? " and \(more.grouped) more" : "")
    }
  }

  /// Compares everything or a sample, in parts small enough to list everything that differs.
  private func drifts(_ ledger: Ledger, _ each: (Ledger.Drift) throws -> Void) throws {
    let limit = Ledger.Drift.listedCountMax
    guard extent.takesAll else {
      var drift = Ledger.Drift()
      let start = randomAccount()
      try database.read { try ledger.compare(&drift, from: start, limit: limit, reading: $0) }
      let accounts = try sample { account, limit in
        try database.read { try ledger.accounts(behind: account, limit: limit, reading: $0) }
      }
      try database.read { try ledger.compare(&drift, schedulesOf: accounts, reading: $0) }
      return try each(drift)
    }
    let progress = Progress(
      "deriving", .count(of: "subscriptions"), of: try database.read(SubscriberPages.count))
    var last: String? = ""
    while let after = last {
      var drift = Ledger.Drift()
      last = try database.read {
        try ledger.compare(&drift, after: after, limit: limit, reading: $0)
      }
      progress.done += drift.checkedCount
      try each(drift)
    }
    let told = Progress("looking for lost rows", .count(of: "pages of purchases"))
    last = ""
    while let after = last {
      var drift = Ledger.Drift()
      told.done += 1
      last = try database.read {
        try ledger.compareTold(&drift, after: after, limit: limit, reading: $0)
      }
      try each(drift)
    }
    try schedules(ledger, each)
  }

  /// Compares all schedules. It runs after the subscriptions that they follow from, so that repairs
  /// there count here.
  private func schedules(_ ledger: Ledger, _ each: (Ledger.Drift) throws -> Void) throws {
    let limit = Ledger.Drift.listedCountMax
    let progress = Progress("deriving schedules", .count(of: "accounts"))
    var last: Identifier? = Identifier(high: 0, low: 0)
    while let behind = last {
      var drift = Ledger.Drift()
      last = try database.read { reader in
        let accounts = try ledger.accounts(behind: behind, limit: limit, reading: reader)
        try ledger.compare(&drift, schedulesOf: accounts, reading: reader)
        return accounts.last
      }
      progress.done += drift.checkedScheduleCount
      try each(drift)
    }
  }

  /// Derives again what differs, while the servers run, and records each repair in the audit log of
  /// its schema. Each is its own transaction, which is rolled back if a cap would shrink, unless
  /// `--shrink` is given.
  private func repair(
    _ drift: Ledger.Drift, _ ledger: Ledger, _ act: Act, _ left: inout Left
  ) throws {
    let billing = try Database.open(configuration.database, owning: .billing, .requiresSchema)
    defer { billing.close() }
    let (now, noted, shrinks) = (self.now, act.on(billing), extent.shrinksCaps)
    func attempt(
      _ effect: Act.Effect, _ body: @escaping @Sendable (Transaction) throws -> Void
    ) throws {
      do {
        try billing.write(for: nil) { transaction in
          try ledger.requireServersRules(reading: transaction)
          try body(transaction)
          try noted.note(effect, at: now, in: transaction)
        }
      } catch let shrinkage as Ledger.Shrinkage {
        left.add(shrinkage)
      }
    }
    for key in drift.subscriptions {
      try attempt(Self.effect(key.description)) { transaction in
        try ledger.repair(key, shrinks: shrinks, at: now, in: transaction)
      }
    }
    for account in drift.accounts {
      try attempt(Self.effect(account.description, account: account)) { transaction in
        try ledger.repair(scheduleOf: account, shrinks: shrinks, at: now, in: transaction)
      }
    }
  }

  private static func effect(_ subject: String, account: Identifier? = nil) -> Act.Effect {
    Act.Effect(
      subject: subject, account: account, before: ["derived": "not as the facts say"],
      after: ["derived": "again"])
  }
}
