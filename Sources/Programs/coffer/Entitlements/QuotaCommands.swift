import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Ledger
import Tiers

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
        let size = invocation[size]
        guard let byteCount = ledger.rules.catalogue.plan(size)?.byteCount ?? ByteCount.read(size)
        else {
          throw CommandFailure(
            .usage, "\(size) is neither a plan nor a size, e.g. 500000000, 500MB or 2TB")
        }
        let until = try invocation.end(until, at: now)
        return try Act(invocation, on: database).whenDecided(
          about: invocation[CommonArguments.account], ledger
        ) { account, transaction, now in
          let held = try QuotaOverride.current(of: account.id, at: now, reading: transaction)
          if let held, held.byteCount == byteCount, held.until == until {
            throw CommandFailure(
              .refused, "account \(account.id) has that quota already, since \(held.from)")
          }
          try ledger.decide(
            .quota(account.id, byteCount: byteCount, until: until, note: reason), at: now,
            in: transaction)
          return (
            "quota  \(ByteCount.text(byteCount))\n",
            [
              .init("account", .string(account.id.description)),
              .init("quota", .integer(byteCount)),
              .init("until", until.map { .string($0.description) } ?? .null),
            ]
          )
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
        try Act(invocation, on: database).whenDecided(
          about: invocation[CommonArguments.account], ledger
        ) { account, transaction, now in
          guard try QuotaOverride.current(of: account.id, at: now, reading: transaction) != nil
          else {
            throw CommandFailure(.refused, "no quota is set for account \(account.id)")
          }
          try ledger.decide(.quotaCleared(account.id, note: reason), at: now, in: transaction)
          return ("cleared\n", [.init("account", .string(account.id.description))])
        }
      }
    })
}
