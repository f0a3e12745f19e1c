import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Storage
import Sync
import Tiers

extension Command {
  private static let file = Parameter<Identifier?>.optional(
    "file", text: "id of one document", .uuid(of: "a file"))
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Int64?>.below()

  static let treeHistory = Command(
    words: ["tree", "history"],
    abstract: "List the versions of an account's documents, newest first",
    discussion: """
      A version is an earlier content that the account's plan keeps. VERSION is what coffer tree restore takes. \
      Names and contents are ciphertext. UNTIL is when the version is deleted if the plan stays.
      """,
    examples: [
      "coffer tree history ada", "coffer tree history ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d",
    ],
    arguments: [CommonArguments.account, file],
    options: [limit, after],
    answers: versions(.none).shape,
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        return try database.read { reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          let listing = versions(
            try Retention(reader, account.id, catalogue: configuration.catalogue, now: now))
          let page = try listing.page(invocation, by: { "\($0.sequence)" }) {
            try Versions.newest(
              reader, ofOwner: account.id, file: invocation[file],
              below: invocation[after] ?? .max, limit: $0)
          }
          return listing.answer(
            page, at: now,
            notice: try page.notice {
              try Versions.count(reader, ofOwner: account.id, file: invocation[file])
            })
        }
      }
    })

  private static func versions(_ retention: Retention) -> Listing<KeptVersion> {
    Listing(
      "versions",
      [
        .integer("number", "NUMBER") { $0.sequence },
        .text("file", "FILE") { $0.file.description },
        .integer("version", "VERSION") { $0.number }, .bytes("bytes", "SIZE") { $0.byteCount },
        .optionalTime("written", "WRITTEN") { $0.written },
        .time("replaced", "REPLACED") { $0.replaced },
        .time("until", "UNTIL") { $0.end(under: retention) },
      ])
  }
}
