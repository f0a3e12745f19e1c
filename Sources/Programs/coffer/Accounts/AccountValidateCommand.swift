import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import KnownProtocols
import Storage

extension Command {
  static let accountValidate = Command(
    words: ["account", "validate"],
    abstract: "Check everything that accounts keep, by protocol",
    discussion: """
      Runs the checks of coffer doctor --deep in short snapshots while the servers run. PROTOCOL is files, \
      logs, actual, documents, mailboxes, chains or recovery. Findings are printed at once (with --json at \
      the end). The exit code is 1 if there is a fault. Progress is on stderr and names the current \
      account, for --after. SIGINT and SIGTERM end a run over --all between two accounts.

      Of documents it checks every signature, the counters of devices, deletions, bodies and totals. Of \
      chains it checks hash, signature, parent, epoch and author of each block, and members, head and \
      totals. A chain is checked with the account that owns it, up to its first fault. At most about 1,000 \
      faults of one protocol are counted for an account.

      coffer usage recount corrects totals and counts. coffer tree validate shows which faults of files \
      can be repaired, and checks contents, too. Nothing corrects a version or a block that is not what \
      its author signed: restore a backup.
      """,
    examples: [
      "coffer account validate ada",
      "coffer account validate --all --json",
    ],
    arguments: [AccountWalk.account],
    options: [AccountWalk.all, AccountWalk.after],
    answers: .object([
      .init("accounts", .integer), .init("broken", .integer), AccountFault.listing.memberShape,
      AccountWalk.Interrupted.shape,
    ]),
    run: { invocation in
      let walk = try AccountWalk(invocation)
      return try DatabaseSession.withAnyCatalogue(invocation) { database, _ in
        var round = ValidationRound(
          database: database,
          found: FoundRows(AccountFault.listing, prints: !invocation[CommonOptions.json]))
        let interrupted = try walk.run(
          "validating", in: database,
          one: { account in
            let progress = Progress(
              "validating", .count(of: "protocols"), of: Int64(KnownProtocols.all.count))
            try round.take(account, progress) { progress.done += 1 }
          }, each: { account, progress in try round.take(account, progress) })
        return round.answer().ended(by: interrupted)
      }
    })
}

/// A fault among the rows that a protocol keeps for an account.
private struct AccountFault {
  let account: Identifier
  let room: String
  let text: String

  static var listing: Listing<AccountFault> {
    let room = FoundRows<AccountFault>.title("PROTOCOL", over: KnownProtocols.all.map { $0.name })
    return Listing(
      "listed",
      [
        .text("account", "ACCOUNT") { $0.account.description }, .text("protocol", room) { $0.room },
        .text("text", "FAULT") { $0.text },
      ])
  }
}

/// One run over one account or all of them, and what it found.
private struct ValidationRound {
  let database: Database
  var found: FoundRows<AccountFault>
  var accountCount = 0
  var brokenCount = 0

  /// `each` is called after each protocol.
  mutating func take(_ account: Identifier, _ progress: Progress, each: () -> Void = {}) throws {
    accountCount += 1
    for room in KnownProtocols.all {
      for text in try room.faults(of: account, in: database) {
        brokenCount += 1
        try found.add(AccountFault(account: account, room: room.name, text: text), progress)
      }
      each()
    }
  }

  func answer() -> Answer {
    Answer(
      code: brokenCount == 0 ? .ok : .refused,
      text: (found.listed.isEmpty ? "" : "\n")
        + "\(counted(accountCount, "account")), \(counted(brokenCount, "fault"))\n",
      json: .object([
        .init("accounts", .integer(Int64(accountCount))),
        .init("broken", .integer(Int64(brokenCount))), found.listing.member(found.listed),
      ]))
  }
}
