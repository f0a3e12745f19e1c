internal import Base
internal import Storage
internal import Sync

/// Every account, by its id, in pages; progress names the account at hand, so that who was interrupted can
/// go on behind it.
enum AccountWalk {
  static let after = Parameter<Identifier?>.optional(
    "--after", "account", text: "with --all, go on behind this id, where a run was interrupted",
    .uuid)

  private static let pageCount = 1000

  /// `title` says what is done to them; `start` is nil for all.
  static func each(
    _ title: String, of database: Database, after start: Identifier? = nil,
    _ body: (Identifier) throws -> Void
  ) throws {
    var last = start ?? Identifier(high: 0, low: 0)
    let progress = Progress(
      title, .count(of: "accounts"),
      of: try database.read { [last] in try Account.count($0, after: last) })
    while true {
      let page = try page(behind: last, limit: pageCount, of: database)
      for account in page {
        progress.place = account.description
        try body(account)
        progress.done += 1
      }
      guard page.count == pageCount, let end = page.last else { return }
      last = end
    }
  }

  static func page(
    behind account: Identifier, limit: Int, of database: Database
  ) throws -> [Identifier] {
    try database.read { reader in
      try reader.rows(
        "SELECT id FROM sync.accounts WHERE id > $1 ORDER BY id LIMIT $2",
        .id(account), .integer(limit)
      ) { row in try row.id(0) }
    }
  }
}
