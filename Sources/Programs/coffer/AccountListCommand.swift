internal import Base
internal import Configuration
internal import JSON
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<String?>.optional(
    "--after", "account", text: "start behind this account", .text)

  static let accountList = Command(
    words: ["account", "list"],
    abstract: "Lists accounts, oldest first.",
    discussion: """
      STATE is suspended (coffer account resume), or exporting, waiting, erasing or erased (coffer deletion \
      list): nothing is written then. Where there are more than it shows, a line on stderr says how to go on.
      """,
    options: [limit, after],
    answers: .page("accounts", of: AccountSummary.shape),
    run: { invocation in
      let limit = invocation[limit]
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (page, summaries, notice) = try database.read { reader in
          let after = try invocation[after].map { try DatabaseSession.account(reader, $0) }
          let page = ListPage(
            try Account.list(reader, after: after, limit: limit + 1), limit: limit,
            cursor: \.id.description)
          let summaries = try page.rows.map { account in
            AccountSummary(
              account,
              try Cap(reader, account.id, catalogue: configuration.catalogue, now: now),
              try AccountDeletion.find(account.id, reading: reader))
          }
          let notice = try page.notice(of: "accounts") {
            try Account.count(reader)
          }
          return (page, summaries, notice)
        }
        var table = Table(
          ("ACCOUNT", .left), ("USERNAME", .left), ("USED", .right), ("CAP", .right),
          ("PLAN", .left), ("REASON", .left), ("STATE", .left), ("CREATED", .left))
        for summary in summaries {
          table.add(
            summary.account.id.description, summary.account.username ?? "-",
            ByteCount.text(summary.account.usageByteCount), ByteCount.text(summary.cap.byteCount),
            summary.cap.planID, summary.cap.reason.rawValue, summary.state,
            Terminal.time(summary.account.created, now: now),
            tint: summary.isOverCap ? .bad : nil)
        }
        return Answer(
          text: table.text, json: page.json("accounts", summaries.map { .object($0.members) }),
          notice: notice)
      }
    })
}

/// An account beside the cap that holds for it now.
struct AccountSummary {
  let account: Account
  let cap: Cap
  /// Since when an operator lets it write nothing; an end that was asked for is told by itself.
  let suspended: Instant?
  /// What becomes of an end that was asked for.
  let deletion: AccountDeletion?

  init(_ account: Account, _ cap: Cap, _ deletion: AccountDeletion?) {
    self.account = account
    self.cap = cap
    self.deletion = deletion
    suspended = account.suspended(beside: deletion)
  }

  var isOverCap: Bool { account.usageByteCount > cap.byteCount }

  /// Why it writes nothing; `-` where it does.
  var state: String {
    let states = [suspended == nil ? nil : "suspended", deletion?.state.rawValue].compactMap { $0 }
    return states.isEmpty ? "-" : states.joined(separator: ", ")
  }

  static let shape: JSONShape = [
    "account": .text, "username": .orNull(.text), "root": .text, "usage": .integer,
    "cap": .integer, "plan": .text, "reason": .text, "created": .time, "invite": .orNull(.text),
    "suspended": .orNull(.time), "deletion": .orNull(.text),
  ]

  var members: [JSONValue.Member] {
    [
      .init("account", .string(account.id.description)),
      .init("username", account.username.map { .string($0) } ?? .null),
      .init("root", .string(account.root.description)),
      .init("usage", .integer(account.usageByteCount)), .init("cap", .integer(cap.byteCount)),
      .init("plan", .string(cap.planID)), .init("reason", .string(cap.reason.rawValue)),
      .init("created", .string(account.created.description)),
      .init("invite", account.invite.map { .string($0.description) } ?? .null),
      .init("suspended", suspended.map { .string($0.description) } ?? .null),
      .init("deletion", deletion.map { .string($0.state.rawValue) } ?? .null),
    ]
  }
}
