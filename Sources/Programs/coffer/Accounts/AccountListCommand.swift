import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Storage
import Sync
import Tiers

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
    answers: AccountSummary.listing().shape,
    run: { invocation in
      let filter = AccountRanking.Filter(
        plan: invocation[plan], isOverCap: invocation[overCap], isSuspended: invocation[suspended])
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        let order = invocation[sort]
        let after = try invocation[after].map { text in
          try database.read { try DatabaseSession.account($0, text) }
        }
        let ranking: AccountRanking? =
          if order == .created, filter.isOpen {
            nil
          } else {
            try rank(
              order, filter, behind: after, keeping: invocation[limit] + 1, of: database,
              configuration.catalogue, at: now)
          }
        return try database.read { reader in
          let listing = AccountSummary.listing(
            withTraffic: order == .traffic, withOver: order == .overCap || filter.isOverCap)
          let page = try listing.page(invocation, by: \.id.description) { limit in
            try ranking?.accounts.compactMap { try Account.find(reader, $0) }
              ?? Account.list(reader, after: after, limit: limit)
          }
          return listing.answer(
            try page.map {
              try AccountSummary($0, configuration.catalogue, at: now, reading: reader)
            }, at: now,
            notice: try page.notice { try ranking?.count ?? Account.count(reader) })
        }
      }
    })

  /// Reads each page in its own snapshot, so that none is held for long.
  private static func rank(
    _ order: AccountRanking.Order, _ filter: AccountRanking.Filter, behind after: Account?,
    keeping count: Int, of database: Database, _ catalogue: Catalogue, at now: Instant
  ) throws -> AccountRanking {
    if let plan = filter.plan,
      try !database.read({ try AccountRanking.knows(plan, catalogue, reading: $0) })
    {
      throw CommandFailure(.refused, "there is no plan \(plan); coffer plan list shows the plans")
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
    return Form(completion: .words(words)) {
      Value(rawValue: $0)
    } refusal: {
      "\($1) takes \(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")"
    }
  }
}

struct AccountSummary {
  let account: Account
  let cap: Cap
  /// When an operator blocked its writes; a requested deletion is shown separately.
  let suspended: Instant?
  let deletion: DeletionProgress?
  /// Content bytes sent and received in this month.
  private let trafficByteCount: Int64

  init(
    _ account: Account, _ catalogue: Catalogue, at now: Instant, reading database: some Queryable
  ) throws {
    self.account = account
    cap = try Cap(database, account.id, catalogue: catalogue, now: now)
    deletion = try DeletionProgress(of: account.id, reading: database)
    suspended = account.suspended(beside: deletion?.deletion)
    let month = try Transfers.months(database, account.id, limit: 1).first {
      $0.number == now.month
    }
    trafficByteCount = month.map { $0.sentByteCount + $0.receivedByteCount } ?? 0
  }

  private var overByteCount: Int64 {
    max(0, account.usageByteCount.subtractingClamped(cap.byteCount))
  }

  /// Why the account cannot write; `-` if it can.
  private var state: String {
    let states = [suspended == nil ? nil : "suspended", deletion?.state.rawValue].compactMap { $0 }
    return states.isEmpty ? "-" : states.joined(separator: ", ")
  }

  /// The columns of an account alone, before and after those that only a list has.
  private typealias Columns = [Column<AccountSummary>]

  private static var sizes: Columns {
    [
      .text("account", "ACCOUNT") { $0.account.id.description },
      .optionalText("username", "USERNAME") { $0.account.username },
      .text("root") { $0.account.root.description },
      .bytes("usage", "USED") { $0.account.usageByteCount },
      .bytes("cap", "CAP") { $0.cap.byteCount },
    ]
  }

  private static var states: Columns {
    [
      .text("plan", "PLAN") { $0.cap.planID }, .text("reason", "REASON") { $0.cap.reason.rawValue },
      Column(
        "deletion", .orNull(.text), "STATE",
        json: { $0.deletion.map { .string($0.state.rawValue) } ?? .null },
        cell: { row, _ in row.state }), .optionalTime("suspended") { $0.suspended },
      .optionalText("invite") { $0.account.invite?.description },
      .time("created", "CREATED") { $0.account.created },
    ]
  }

  static var single: Listing<AccountSummary> { Listing("accounts", sizes + states) }

  /// Accounts with their traffic and what is above their caps, in columns if asked for.
  static func listing(
    withTraffic: Bool = false, withOver: Bool = false
  ) -> Listing<AccountSummary> {
    let figures: Columns = [
      .bytes("over_cap", withOver ? "OVER" : nil) { $0.overByteCount },
      .bytes("traffic", withTraffic ? "TRAFFIC" : nil) { $0.trafficByteCount },
    ]
    return Listing("accounts", sizes + figures + states) { row in
      row.account.usageByteCount > row.cap.byteCount ? .bad : nil
    }
  }
}
