internal import Accounts
internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<String?>.optional(
    "--after", "account", text: "start after this account, in the same order", .text)
  private static let sort = Parameter<AccountRanking.Order>.optional(
    "--sort", "order",
    text: {
      "created (oldest first), usage, traffic (content sent and received this month), or over-cap "
        + "(only accounts over their cap, by how much) (default: \($0.rawValue))"
    }, .order, otherwise: .created)
  private static let plan = Parameter<String?>.optional(
    "--plan", "plan", text: "only accounts with this plan now", .text)
  private static let overCap = Parameter<Bool>.flag(
    "--over-cap", text: "only accounts above their quota")
  private static let suspended = Parameter<Bool>.flag(
    "--suspended", text: "only suspended accounts")

  static let accountList = Command(
    words: ["account", "list"],
    abstract: "List accounts: oldest, largest or over quota first",
    discussion: """
      STATE is suspended (see coffer account resume) or exporting, waiting, erasing or erased (see coffer \
      deletion list). Such accounts cannot write. TRAFFIC is the current month in UTC. OVER is the usage \
      above the quota. A filter, or any order but created, reads every account once and reports progress \
      on stderr. If there are more rows, a line on stderr shows how to continue.
      """,
    examples: ["coffer account list --sort over-cap --limit 20"],
    options: [sort, plan, overCap, suspended, limit, after],
    answers: .page("accounts", of: ListedAccount.shape),
    run: { invocation in
      let filter = AccountRanking.Filter(
        plan: invocation[plan], isOverCap: invocation[overCap], isSuspended: invocation[suspended])
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (order, limit) = (invocation[sort], invocation[limit])
        let after = try invocation[after].map { text in
          try database.read { try DatabaseSession.account($0, text) }
        }
        let ranking: AccountRanking? =
          if order == .created, filter.isOpen {
            nil
          } else {
            try rank(
              order, filter, behind: after, keeping: limit + 1, of: database,
              configuration.catalogue, at: now)
          }
        let (page, rows, notice) = try database.read { reader in
          let accounts =
            try ranking?.accounts.compactMap { try Account.find(reader, $0) }
            ?? Account.list(reader, after: after, limit: limit + 1)
          let page = ListPage(accounts, limit: limit, cursor: \.id.description)
          let rows = try page.rows.map {
            try ListedAccount($0, configuration.catalogue, at: now, reading: reader)
          }
          let notice = try page.notice(of: "accounts") {
            try ranking?.count ?? Account.count(reader)
          }
          return (page, rows, notice)
        }
        return Answer(
          text: ListedAccount.table(
            rows, withTraffic: order == .traffic, withOver: order == .overCap || filter.isOverCap,
            at: now
          ).text,
          json: page.json("accounts", rows.map(\.json)), notice: notice)
      }
    })

  /// Reads each page in its own snapshot, so that none is held for long.
  private static func rank(
    _ order: AccountRanking.Order, _ filter: AccountRanking.Filter, behind after: Account?,
    keeping count: Int, of database: Database, _ catalogue: Catalogue, at now: Instant
  ) throws -> AccountRanking {
    if let plan = filter.plan, catalogue.plan(plan) == nil {
      let known = try database.read { reader in
        try reader.first(
          "SELECT 1 FROM billing.entitlements WHERE plan = $1 LIMIT 1", .text(plan)
        ) { _ in true }
      }
      guard known != nil else {
        throw CommandFailure(.refused, "there is no plan \(plan); coffer plan list shows the plans")
      }
    }
    var ranking = try database.read { reader in
      try AccountRanking(
        order, filter, behind: after?.id, keeping: count, catalogue, at: now, reading: reader)
    }
    let progress = Progress(
      "reading", .count(of: "accounts"), of: try database.read { try Account.count($0) })
    while try database.read({ try ranking.readPage($0) }) { progress.done = ranking.readCount }
    return ranking
  }
}

extension Form where Value == AccountRanking.Order {
  fileprivate static var order: Form {
    let words = Value.allCases.map(\.rawValue)
    return Form(completion: .words(words)) { (text, name) throws(CommandFailure) in
      if let order = Value(rawValue: text) { return order }
      let names = words.dropLast().joined(separator: ", ") + " or \(words.last ?? "")"
      throw CommandFailure(.usage, "\(name) takes \(names)")
    }
  }
}

/// An account as a list shows it.
private struct ListedAccount {
  private let summary: AccountSummary
  /// Content bytes sent and received in this month.
  private let trafficByteCount: Int64
  private let now: Instant

  init(
    _ account: Account, _ catalogue: Catalogue, at now: Instant, reading reader: Reader
  ) throws {
    summary = AccountSummary(
      account, try Cap(reader, account.id, catalogue: catalogue, now: now),
      try DeletionProgress(of: account.id, reading: reader))
    let month = try Transfers.months(reader, account.id, limit: 1).first
    trafficByteCount =
      month.flatMap { $0.number == now.month ? $0.sentByteCount + $0.receivedByteCount : nil } ?? 0
    self.now = now
  }

  private var overByteCount: Int64 {
    max(0, summary.account.usageByteCount.subtractingClamped(summary.cap.byteCount))
  }

  static let shape = AccountSummary.shape.adding([
    .init("traffic", .integer), .init("over_cap", .integer),
  ])

  var json: JSONValue {
    .object(
      summary.members + [
        .init("traffic", .integer(trafficByteCount)), .init("over_cap", .integer(overByteCount)),
      ])
  }

  static func table(
    _ rows: [ListedAccount], withTraffic: Bool, withOver: Bool, at now: Instant
  ) -> Table {
    let numbers: [(String, (ListedAccount) -> Int64)] =
      (withOver ? [("OVER", \.overByteCount)] : [])
      + (withTraffic ? [("TRAFFIC", \.trafficByteCount)] : [])
    var table = Table(
      columns: [("ACCOUNT", .left), ("USERNAME", .left), ("USED", .right), ("CAP", .right)]
        + numbers.map { ($0.0, .right) }
        + [("PLAN", .left), ("REASON", .left), ("STATE", .left), ("CREATED", .left)])
    for row in rows {
      let (account, cap) = (row.summary.account, row.summary.cap)
      table.add(
        cells: [
          account.id.description, account.username ?? "-",
          ByteCount.text(account.usageByteCount), ByteCount.text(cap.byteCount),
        ] + numbers.map { ByteCount.text($0.1(row)) } + [
          cap.planID, cap.reason.rawValue, row.summary.state,
          Terminal.time(account.created, now: now),
        ], tint: row.summary.isOverCap ? .bad : nil)
    }
    return table
  }
}

/// An account with its current cap.
struct AccountSummary {
  let account: Account
  let cap: Cap
  /// When an operator blocked its writes; a requested deletion is shown separately.
  let suspended: Instant?
  /// The progress of a requested deletion.
  let deletion: DeletionProgress?

  init(_ account: Account, _ cap: Cap, _ deletion: DeletionProgress?) {
    self.account = account
    self.cap = cap
    self.deletion = deletion
    suspended = account.suspended(beside: deletion?.deletion)
  }

  var isOverCap: Bool { account.usageByteCount > cap.byteCount }

  /// Why the account cannot write; `-` if it can.
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
