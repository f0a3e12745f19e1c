internal import Base
internal import Configuration
internal import JSON
internal import Storage
internal import Sync

extension Command {
  private static let account = Parameter<String?>.optional(
    "account", text: "its id or its username; or give --all", .text)
  private static let all = Parameter<Bool>.flag(
    "--all", text: "every account; lists those that were wrong")
  private static let dryRun = Parameter<Bool>.flag(
    "--dry-run", text: "show what is found and correct nothing")

  static let usageRecount = Command(
    words: ["usage", "recount"],
    abstract: "Counts what accounts are charged for, and corrects what is recorded.",
    discussion: """
      Reads the live records in slices while the servers go on. Where total, ledger or number of \
      records differ from them, the difference is posted to all three, in the ledger under the \
      reason recount. Records that clients change meanwhile are counted right. Two recounts at a \
      time do not correct twice. Each record costs the fee of the catalogue in effect, so name the \
      one that the servers use. Progress of --all is on stderr.
      """,
    arguments: [account],
    options: [all, dryRun] + Act.handyOptions,
    answers: .object([
      .init("accounts", .integer), .init("wrong", .integer), .init("corrected", .integer),
      .init(
        "listed",
        .list(
          .object(
            [.init("account", .text)] + UsageFinding.shape + [.init("outcome", .text)]))),
      .init("audit", .text, isOptional: true),
    ]),
    run: { invocation in
      let named = invocation[account]
      guard (named == nil) == invocation[all] else {
        throw CommandFailure(.usage, "give one of <account> and --all")
      }
      return try DatabaseSession.with(invocation) { database, configuration in
        var round = RecountRound(
          Recount(database, catalogue: configuration.catalogue),
          corrects: !invocation[dryRun], clock: configuration.clock)
        let one = try named.map { named in
          try database.read { try DatabaseSession.account($0, named) }
        }
        if let one {
          try round.take(one, listing: true)
        } else {
          try round.takeAll(of: database)
        }
        guard !invocation[dryRun] else {
          return Answer(text: round.text, json: .object(round.members))
        }
        let effect = round.effect(on: one)
        return try Act(invocation, on: database).atOnce(at: configuration.clock.now()) { _ in effect
        }
      }
    })
}

/// One run over one account or all of them, and what it found.
private struct RecountRound {
  private let recount: Recount
  private let corrects: Bool
  private let clock: Clock
  private var accountCount = 0
  private var wrongCount = 0
  private var listed: [UsageFinding] = []

  private static let listedCountMax = 10_000
  private static let pageCount = 1000

  init(_ recount: Recount, corrects: Bool, clock: Clock) {
    self.recount = recount
    self.corrects = corrects
    self.clock = clock
  }

  /// Oldest first; the wrong ones are listed.
  mutating func takeAll(of database: Database) throws {
    let progress = Progress(
      "counting", .count(of: "accounts"), of: try database.read { try Account.count($0) })
    var last: Account?
    while true {
      let page = try database.read { reader in
        try Account.list(reader, after: last, limit: Self.pageCount)
      }
      for account in page {
        try take(account, listing: false)
        progress.done += 1
      }
      guard page.count == Self.pageCount, let end = page.last else { return }
      last = end
    }
  }

  mutating func take(_ account: Account, listing: Bool) throws {
    let found =
      corrects
      ? try recount.correct(account.id, now: clock.now()) : try recount.audit(account.id)
    guard let finding = found else { return }
    accountCount += 1
    if !finding.isRight { wrongCount += 1 }
    if listing || !finding.isRight, listed.count < Self.listedCountMax { listed.append(finding) }
  }

  private func outcome(_ finding: UsageFinding) -> String {
    finding.isRight ? "right" : corrects ? "corrected" : "wrong"
  }

  var text: String {
    var table = Table(
      ("ACCOUNT", .left), ("RECORDED", .right), ("LEDGER", .right), ("COUNTED", .right),
      ("DIFFERENCE", .right), ("RECORDS", .right), ("LIVE", .right), ("OUTCOME", .left))
    for finding in listed {
      table.add(
        finding.account.description, String(finding.recordedByteCount),
        String(finding.ledgerByteCount), String(finding.trueByteCount),
        String(finding.trueByteCount - finding.recordedByteCount),
        String(finding.recordedRecordCount), String(finding.trueRecordCount), outcome(finding))
    }
    let accounts = counted(accountCount, "account")
    let more = corrects ? "corrected" : "wrong"
    return (listed.isEmpty ? "" : table.text + "\n") + "\(accounts), \(wrongCount) \(more)\n"
  }

  var members: [JSONValue.Member] {
    [
      .init("accounts", .integer(Int64(accountCount))), .init("wrong", .integer(Int64(wrongCount))),
      .init("corrected", .integer(Int64(corrects ? wrongCount : 0))),
      .init(
        "listed",
        .array(
          listed.map { finding in
            .object(
              [.init("account", .string(finding.account.description))] + finding.members
                + [.init("outcome", .string(outcome(finding)))])
          })),
    ]
  }

  /// The usage ledger has each correction; the audit log has who made them.
  func effect(on account: Account?) -> Act.Effect {
    Act.Effect(
      subject: account?.id.description ?? "all accounts", name: account?.username,
      account: account?.id, before: ["wrong": .integer(Int64(wrongCount))], after: ["wrong": 0],
      text: text, members: members)
  }
}
