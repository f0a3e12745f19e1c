internal import Accounts
internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Ledger
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  private static let size = Parameter<String>.required(
    "size", text: "bytes, e.g. 500000000, 500MB or 2TB, or a plan id", .text)
  private static let until = Parameter<StatedTime?>.optional(
    "--until", "time",
    text: "end in UTC: 2027-01-01T10:00:00Z, 2027-01-01 or 30d (default: no end)", .end)

  static let quotaSet = Command(
    words: ["quota", "set"],
    abstract: "Set an account's quota, whatever it has bought",
    discussion: """
      A quota can also be smaller than what the account paid for. While it stands, purchases and grants \
      change nothing. An account above it keeps its data and cannot add to it. A new quota replaces the \
      old one; coffer quota clear removes it.
      """,
    examples: ["coffer quota set ada 5GB --until 30d --reason \"migration\" --yes"],
    arguments: [CommonArguments.account, size],
    options: [until] + Act.options,
    answers: Act.answers(["account": .text, "quota": .integer, "until": .orNull(.time)]),
    run: { invocation in
      let reason = invocation[Act.reason]
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        let byteCount = try byteCount(invocation[size], ledger.rules.catalogue)
        let until = invocation[until]?.moment(at: now)
        if let until, until <= now { throw CommandFailure(.usage, "--until is in the past") }
        return try Act(invocation, on: database).whenConfirmed { transaction, now in
          let account = try DatabaseSession.livingAccount(
            transaction, invocation[CommonArguments.account])
          let held = try QuotaOverride.current(of: account.id, at: now, reading: transaction)
          guard held?.byteCount != byteCount || held?.until != until else {
            throw CommandFailure(
              .refused,
              "account \(account.id) has that quota already, since "
                + "\(held?.from ?? now)")
          }
          let before = try Holding(account.id, ledger, at: now, transaction)
          try ledger.decide(
            .quota(account.id, byteCount: byteCount, until: until, note: reason), at: now,
            in: transaction)
          return Act.Effect(
            subject: account.id.description, name: account.username, account: account.id,
            before: before.json,
            after: try Holding(account.id, ledger, at: now, transaction).json,
            text: "quota  \(ByteCount.text(byteCount))\n",
            members: [
              .init("account", .string(account.id.description)),
              .init("quota", .integer(byteCount)),
              .init("until", until.map { .string($0.description) } ?? .null),
            ])
        }
      }
    })

  static let quotaClear = Command(
    words: ["quota", "clear"],
    abstract: "Remove the quota set for an account",
    discussion: "Its purchases and grants then apply again.",
    examples: ["coffer quota clear ada --reason \"migration is over\" --yes"],
    arguments: [CommonArguments.account],
    options: Act.options,
    answers: Act.answers(["account": .text]),
    run: { invocation in
      let reason = invocation[Act.reason]
      return try DatabaseSession.withLedger(invocation) { database, ledger, _ in
        try Act(invocation, on: database).whenConfirmed { transaction, now in
          let account = try DatabaseSession.livingAccount(
            transaction, invocation[CommonArguments.account])
          guard try QuotaOverride.current(of: account.id, at: now, reading: transaction) != nil
          else {
            throw CommandFailure(.refused, "no quota is set for account \(account.id)")
          }
          let before = try Holding(account.id, ledger, at: now, transaction)
          try ledger.decide(.quotaCleared(account.id, note: reason), at: now, in: transaction)
          return Act.Effect(
            subject: account.id.description, name: account.username, account: account.id,
            before: before.json,
            after: try Holding(account.id, ledger, at: now, transaction).json, text: "cleared\n",
            members: [.init("account", .string(account.id.description))])
        }
      }
    })

  private static let units: [(String, Int64)] = [
    ("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1),
  ]

  /// A plan's size, or a number with or without a unit.
  private static func byteCount(
    _ text: String, _ catalogue: Catalogue
  ) throws(CommandFailure) -> Int64 {
    if let plan = catalogue.plan(text) { return plan.byteCount }
    let unit = units.first { text.lowercased().hasSuffix($0.0.lowercased()) }
    let digits = unit.map { text.dropLast($0.0.count) } ?? text[...]
    let (product, overflow) = (Int64(digits) ?? -1).multipliedReportingOverflow(by: unit?.1 ?? 1)
    guard product >= 0, !overflow else {
      throw CommandFailure(
        .usage, "\(text) is neither a plan nor a size, e.g. 500000000, 500MB or 2TB")
    }
    return product
  }
}
