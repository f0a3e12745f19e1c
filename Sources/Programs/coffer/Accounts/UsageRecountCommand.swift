import Acts
import Base
import CommandLine
import Configuration
import JSON
import KnownProtocols
import Sync

extension Command {
  private static let dryRun = Parameter<Bool>.flag(
    "--dry-run", text: "show the findings and correct nothing")

  static let usageRecount = Command(
    words: ["usage", "recount"],
    abstract: "Recount accounts' usage and correct the recorded total",
    discussion: """
      Reads the live records in slices while the servers run. Totals of message logs that disagree with the \
      messages are put right first. If the total, the ledger or the record count \
      differs, the difference is posted to all three, with the reason recount. Records that change \
      meanwhile are counted correctly, and two recounts at once do not correct twice. Each record costs \
      the fee of the catalogue in effect, so use the servers' catalogue.

      Each correction is in the audit log. Progress of --all is on stderr and names the current account, \
      for --after. SIGINT and SIGTERM end such a run between two accounts.
      """,
    examples: [
      "coffer usage recount ada --dry-run",
      "coffer usage recount --all",
    ],
    arguments: [AccountWalk.account],
    options: [AccountWalk.all, AccountWalk.after, dryRun] + Act.handyOptions,
    answers: .object([
      .init("accounts", .integer), .init("wrong", .integer), .init("corrected", .integer),
      RecountRound.listing(whenWrong: "").memberShape, AccountWalk.Interrupted.shape,
    ]),
    run: { invocation in
      let walk = try AccountWalk(invocation)
      return try DatabaseSession.with(invocation) { database, configuration in
        var round = RecountRound(
          recount: Recount(
            database, catalogue: configuration.catalogue, protocols: KnownProtocols.all),
          act: invocation[dryRun] ? nil : try Act(invocation, on: database),
          clock: configuration.clock)
        let interrupted = try walk.run(
          "counting", in: database, one: { try round.take($0, listing: true) },
          each: { account, _ in try round.take(account, listing: false) })
        return round.answer().ended(by: interrupted)
      }
    })
}

/// One run over one account or all of them, and what it found.
private struct RecountRound {
  let recount: Recount
  /// Nil if nothing is corrected.
  let act: Act?
  let clock: Clock
  var accountCount = 0
  var wrongCount = 0
  var listed: [UsageFinding] = []

  private static let listedCountMax = 10_000

  mutating func take(_ account: Identifier, listing: Bool) throws {
    let found =
      if let act {
        try recount.correct(account, noting: act, at: clock.now())
      } else {
        try recount.audit(account)
      }
    guard let finding = found else { return }
    accountCount += 1
    if !finding.isRight { wrongCount += 1 }
    if listing || !finding.isRight, listed.count < Self.listedCountMax { listed.append(finding) }
  }

  /// The findings, with what became of each.
  static func listing(whenWrong outcome: String) -> Listing<UsageFinding> {
    Listing(
      "listed",
      UsageFinding.columns + [.text("outcome", "OUTCOME") { $0.isRight ? "right" : outcome }])
  }

  func answer() -> Answer {
    let outcome = act == nil ? "wrong" : "corrected"
    let listing = Self.listing(whenWrong: outcome)
    return Answer(
      text: (listed.isEmpty ? "" : listing.text(listed, at: clock.now()) + "\n")
        + "\(counted(accountCount, "account")), \(wrongCount) \(outcome)\n",
      json: .object([
        .init("accounts", .integer(Int64(accountCount))),
        .init("wrong", .integer(Int64(wrongCount))),
        .init("corrected", .integer(Int64(act == nil ? 0 : wrongCount))),
        listing.member(listed),
      ]))
  }
}
