import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Storage
import Sync
import Tiers

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Int64?>.below()

  static let treeTrash = Command(
    words: ["tree", "trash"],
    abstract: "List an account's deleted files that are kept, latest first",
    discussion: """
      Each line is a file that was deleted by itself, with everything that was deleted with it. Names are \
      ciphertext. coffer tree restore brings one back. UNTIL is when it is purged if the plan stays.
      """,
    examples: ["coffer tree trash ada"],
    arguments: [CommonArguments.account],
    options: [limit, after],
    answers: trash(.none).shape,
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        return try database.read { reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          let listing = trash(
            try Retention(reader, account.id, catalogue: configuration.catalogue, now: now))
          let page = try listing.page(invocation, by: { "\($0.sequence)" }) {
            try Trash.latest(reader, of: account.id, below: invocation[after] ?? .max, limit: $0)
          }
          return listing.answer(
            page, at: now, notice: try page.notice { try Trash.count(reader, of: account.id) })
        }
      }
    })

  private static func trash(_ retention: Retention) -> Listing<Trash> {
    Listing(
      "trash",
      [
        .integer("number", "NUMBER") { $0.sequence }, .text("file", "FILE") { $0.root.description },
        .integer("records", "RECORDS") { $0.recordCount }, .bytes("bytes", "SIZE") { $0.byteCount },
        .time("deleted", "DELETED") { $0.deleted },
        .time("until", "UNTIL") { $0.end(under: retention) },
        .bool("busy") { $0.isAtWork },
      ])
  }
}
