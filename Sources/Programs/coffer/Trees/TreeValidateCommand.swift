import Acts
import Base
import CommandLine
import Configuration
import Doctor
import JSON
import KnownProtocols
import Sync
import S3

extension Command {
  private static let repair = Parameter<Bool>.flag(
    "--repair",
    text: "repair what has exactly one right repair; shows the repairs unless --yes is given")

  static let treeValidate = Command(
    words: ["tree", "validate"],
    abstract: "Check accounts' file trees for consistency",
    discussion: """
      Reads in short snapshots while the servers run. It checks parents, owners, cycles, heights and \
      names, deleted records, the place and length of contents, shares, links and views, every signature, \
      and the usage. Objects are checked where COFFER_OBJECTS is set. Findings are printed at once (with \
      --json at the end). The exit code is 1 if a rule is broken. Progress is on stderr and names the \
      current account, for --after. SIGINT and SIGTERM end a run over --all between two accounts.

      --repair shows what can be repaired; with --yes each repair is one transaction with an audit entry. \
      It repairs usage (like coffer usage recount), heights (height), bytes of a record without content \
      (content), a deletion mark on a live record (deletion), shares of missing files (share_of_nothing) \
      and views (view). Everything else is only reported. REPAIR is done, possible, none, or settled if \
      the rule holds again. The exit code is 0 if nothing is left, and 3 if --yes would repair all of it.
      """,
    examples: [
      "coffer tree validate ada",
      "coffer tree validate --all --repair --yes --reason \"after restore\"",
    ],
    arguments: [AccountWalk.account],
    options: [AccountWalk.all, AccountWalk.after, repair, Act.yes, Act.remark],
    answers: .object([
      .init("accounts", .integer), .init("rows", .integer), .init("broken", .integer),
      .init(
        "listed",
        .list(
          TreeValidation.Broken.listing(showsRepairs: false).item.adding([
            .init("repair", .text, isOptional: true)
          ]))),
      .init("repaired", .integer, isOptional: true),
      AccountWalk.Interrupted.shape,
    ]),
    run: { invocation in
      guard invocation[repair] || !invocation[Act.yes] && invocation[Act.remark] == nil else {
        throw CommandFailure(.usage, "--yes and --reason are for --repair")
      }
      let walk = try AccountWalk(invocation)
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        var validation = TreeValidation(
          database, try configuration.objects.map { try ObjectStores.open($0) },
          Recount(database, catalogue: configuration.catalogue, protocols: KnownProtocols.all),
          repairing: !invocation[repair]
            ? nil
            : TreeRepairs(
              database, try Act(invocation, on: database), configuration.clock,
              does: invocation[Act.yes]))
        var list = FoundRows(
          TreeValidation.Broken.listing(showsRepairs: invocation[repair]),
          prints: !invocation[CommonOptions.json])
        let interrupted = try walk.run(
          "validating", in: database,
          one: { account in
            let progress = Progress("validating", .count(of: "rows"))
            try validation.take(account, each: { progress.done = $0 }) {
              try list.add($0, progress)
            }
          },
          each: { account, progress in
            try validation.take(account) { try list.add($0, progress) }
          })
        return list.answer(validation, showsRepairs: invocation[repair]).ended(by: interrupted)
      }
    })
}

extension TreeValidation.Broken {
  fileprivate static func listing(showsRepairs: Bool) -> Listing<Self> {
    let rule = FoundRows<Self>.title("BROKEN", over: TreeFinding.Law.allCases.map(\.rawValue))
    let repair: [Column<Self>] =
      showsRepairs
      ? [.text("repair", TreeRepairs.Word.title) { $0.repair?.rawValue ?? "" }] : []
    return Listing(
      "listed",
      [
        .text("account", "ACCOUNT") { $0.account.description },
        .text("file", "FILE") { $0.file.description }, .text("rule", rule) { $0.rule },
      ] + repair + [.text("text", "RULE") { $0.text }])
  }
}

extension FoundRows<TreeValidation.Broken> {
  fileprivate func answer(_ found: TreeValidation, showsRepairs: Bool) -> Answer {
    let left = found.brokenCount - found.repairedCount
    let sums = showsRepairs ? ", \(found.repairedCount) repaired" : ""
    return Answer(
      code: left == 0 ? .ok : left == found.repairableCount ? .unconfirmed : .refused,
      text: (listed.isEmpty ? "" : "\n")
        + "\(counted(found.accountCount, "account")), \(found.rowCount) rows, "
        + "\(found.brokenCount) broken rules\(sums)\n",
      json: .object(
        [
          .init("accounts", .integer(Int64(found.accountCount))),
          .init("rows", .integer(found.rowCount)),
          .init("broken", .integer(Int64(found.brokenCount))),
          listing.member(listed),
        ] + (showsRepairs ? [.init("repaired", .integer(Int64(found.repairedCount)))] : [])),
      notice: found.repairableCount == 0
        ? nil : "no changes made; --yes repairs \(counted(found.repairableCount, "row"))")
  }
}
