import Accounts
import Acts
import Base
import Chains
import CommandLine
import Configuration
import Documents
import JSON
import Logs
import Mailboxes
import PublicLinks
import Storage
import Sync
import Tiers

extension Command {
  private static let limit = Parameter<Int>.limit(of: " of each list", otherwise: 20)

  static let usageExplain = Command(
    words: ["usage", "explain"],
    abstract: "Show what an account's usage consists of, and who wrote it",
    discussion: """
      Reads all records of the account in one snapshot while the servers run. FOLDER is a folder at the top of \
      the tree, or the root for files in no folder. ACCOUNT is whose key wrote a content last, or made the \
      record if it has none. Names are ciphertext. LOGS are message logs with their snapshots; coffer log list \
      shows each. DOCUMENTS are those that devices merge, not those of the tree. MAILBOXES are messages to devices \
      and key packages. CHAINS are signature chains with the blocks of all members. LINKS are public \
      links; coffer link list shows each. UPLOADS are reserved by uploads under way, and COLLECTABLE bytes wait for their deletion: neither is charged.
      """,
    examples: ["coffer usage explain ada"],
    arguments: [CommonArguments.account],
    options: [limit],
    answers: ExplainedUsage.shape,
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let (now, catalogue) = (configuration.clock.now(), configuration.catalogue)
        return try database.read { reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          let usage = ExplainedUsage(
            account: account,
            cap: try Cap(reader, account.id, catalogue: catalogue, now: now),
            explanation: try UsageExplanation(
              reader, account.id, root: account.root, fee: catalogue.metadataFeeByteCount,
              limit: invocation[limit], now: now),
            logByteCount: try MessageLogs.weights(of: account.id, reading: reader)
              .byteCount(catalogue),
            documentByteCount: try VersionedDocuments.weights(of: account.id, reading: reader)
              .byteCount(catalogue),
            mailboxByteCount: try DeviceMailboxes.weights(of: account.id, reading: reader)
              .byteCount(catalogue),
            chainByteCount: try SignatureChains.weights(of: account.id, reading: reader)
              .byteCount(catalogue),
            publicLinkByteCount: try PublishedContents.weights(of: account.id, reading: reader)
              .byteCount(catalogue))
          return Answer(text: usage.text(at: now), json: .object(usage.members))
        }
      }
    })
}

extension [String: UsageWeight] {
  /// The charge for all of them.
  fileprivate func byteCount(_ catalogue: Catalogue) -> Int64 {
    values.reduce(0) {
      $0 + $1.contentByteCount + $1.recordCount * catalogue.metadataFeeByteCount
    }
  }
}

private struct ExplainedUsage {
  let account: Account
  let cap: Cap
  let explanation: UsageExplanation
  let logByteCount: Int64
  let documentByteCount: Int64
  let mailboxByteCount: Int64
  let chainByteCount: Int64
  let publicLinkByteCount: Int64

  static var shape: JSONShape {
    .object([
      .init("account", .text), .init("usage", .integer), .init("cap", .integer),
      .init("plan", .text), .init("reason", .text), .init("over", .integer),
      .init("when_full", .text), .init("live", .integer), .init("history", .integer),
      .init("trash", .integer), .init("logs", .integer), .init("documents", .integer),
      .init("mailboxes", .integer), .init("chains", .integer), .init("public_links", .integer),
      .init("uploads", .integer),
      .init("collectable", .integer),
      folders.memberShape, writers.memberShape,
    ])
  }

  private var overByteCount: Int64 { max(0, account.usageByteCount - cap.byteCount) }

  var members: [JSONValue.Member] {
    let total = explanation.total
    return [
      .init("account", .string(account.id.description)),
      .init("usage", .integer(account.usageByteCount)), .init("cap", .integer(cap.byteCount)),
      .init("plan", .string(cap.planID)), .init("reason", .string(cap.reason.rawValue)),
      .init("over", .integer(overByteCount)),
      .init("when_full", .string(account.whenFull.rawValue)),
      .init("live", .integer(total.liveByteCount)),
      .init("history", .integer(total.historyByteCount)),
      .init("trash", .integer(total.trashByteCount)),
      .init("logs", .integer(logByteCount)), .init("documents", .integer(documentByteCount)),
      .init("mailboxes", .integer(mailboxByteCount)),
      .init("chains", .integer(chainByteCount)),
      .init("public_links", .integer(publicLinkByteCount)),
      .init("uploads", .integer(explanation.uploadByteCount)),
      .init("collectable", .integer(explanation.collectableByteCount)),
      Self.folders.member(explanation.folders), Self.writers.member(explanation.writers),
    ]
  }

  func text(at now: Instant) -> String {
    let total = explanation.total
    func size(_ byteCount: Int64) -> String { ByteCount.text(byteCount) }
    let head = """
      account      \(account.id)
      used         \(size(account.usageByteCount))
      cap          \(size(cap.byteCount)): \(cap.planID), \(cap.reason.rawValue)
      over         \(overByteCount == 0 ? "-" : size(overByteCount))
      when full    \(account.whenFull == .purge ? "purge" : "keep") history and trash
      live         \(size(total.liveByteCount))
      history      \(size(total.historyByteCount))
      trash        \(size(total.trashByteCount))
      logs         \(size(logByteCount))
      documents    \(size(documentByteCount))
      mailboxes    \(size(mailboxByteCount))
      chains       \(size(chainByteCount))
      links        \(size(publicLinkByteCount))
      uploads      \(size(explanation.uploadByteCount))
      collectable  \(size(explanation.collectableByteCount))

      """
    return [
      head, Self.folders.text(explanation.folders, at: now),
      Self.writers.text(explanation.writers, at: now),
    ].joined(separator: "\n")
  }

  private static var folders: Listing<UsageExplanation.Share> { shares("folders", "folder") }
  private static var writers: Listing<UsageExplanation.Share> { shares("writers", "account") }

  private static func shares(_ name: String, _ what: String) -> Listing<UsageExplanation.Share> {
    Listing(
      name,
      [
        Column(
          what, .orNull(.text), what.uppercased(),
          json: { $0.id.map { .string($0.description) } ?? .null },
          cell: { share, _ in
            share.id?.description ?? (share.otherCount > 0 ? "\(share.otherCount) others" : "-")
          }), .integer("others") { $0.otherCount },
        .integer("records", "RECORDS") { $0.parts.recordCount },
        .bytes("live", "LIVE") { $0.parts.liveByteCount },
        .bytes("history", "HISTORY") { $0.parts.historyByteCount },
        .bytes("trash", "TRASH") { $0.parts.trashByteCount },
        .bytes("bytes", "ALL") { $0.parts.byteCount },
      ])
  }
}
