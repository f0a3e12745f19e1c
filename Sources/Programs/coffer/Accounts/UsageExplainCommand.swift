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
      shows each. DOCUMENTS are those that devices merge, not those of the tree. HISTORY has what was replaced of \
      both. MAILBOXES are messages to devices and key packages. CHAINS are signature chains with the blocks of all \
      members. LINKS are public links; coffer link list shows each. UPLOADS are reserved by uploads under way, and \
      COLLECTABLE bytes wait for their deletion: neither is charged.
      """,
    examples: ["coffer usage explain ada"],
    arguments: [CommonArguments.account],
    options: [limit],
    answers: ExplainedUsage.listing.item,
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        let usage = try database.read { reader in
          try ExplainedUsage(
            of: try DatabaseSession.account(reader, invocation[CommonArguments.account]),
            configuration.catalogue, limit: invocation[limit], at: now, reader)
        }
        return Answer(text: usage.text(at: now), json: ExplainedUsage.listing.json(usage))
      }
    })
}

private struct ExplainedUsage {
  private let account: Account
  private let cap: Cap
  private let explanation: UsageExplanation
  /// What was replaced, of files and of documents.
  private let historyByteCount: Int64
  /// What the other protocols are charged for.
  private let logByteCount: Int64
  private let documentByteCount: Int64
  private let mailboxByteCount: Int64
  private let chainByteCount: Int64
  private let publicLinkByteCount: Int64

  init(
    of account: Account, _ catalogue: Catalogue, limit: Int, at now: Instant, _ reader: Reader
  ) throws {
    func charge(for room: any ProtocolRoom.Type) throws -> Int64 {
      try room.weights(of: account.id, reading: reader).values.reduce(0) {
        $0 + $1.contentByteCount + $1.recordCount * catalogue.metadataFeeByteCount
      }
    }
    self.account = account
    cap = try Cap(reader, account.id, catalogue: catalogue, now: now)
    explanation = try UsageExplanation(
      reader, account.id, root: account.root, fee: catalogue.metadataFeeByteCount, limit: limit,
      now: now)
    logByteCount = try charge(for: MessageLogs.self)
    let ofDocuments = try VersionedDocuments.historyByteCount(of: account.id, reading: reader)
    historyByteCount = explanation.total.historyByteCount + ofDocuments
    documentByteCount = try charge(for: VersionedDocuments.self) - ofDocuments
    mailboxByteCount = try charge(for: DeviceMailboxes.self)
    chainByteCount = try charge(for: SignatureChains.self)
    publicLinkByteCount = try charge(for: PublishedContents.self)
  }

  private var overByteCount: Int64 { max(0, account.usageByteCount - cap.byteCount) }

  static var listing: Listing<ExplainedUsage> {
    Listing([
      .text("account") { $0.account.id.description },
      .integer("usage") { $0.account.usageByteCount }, .integer("cap") { $0.cap.byteCount },
      .text("plan") { $0.cap.planID }, .text("reason") { $0.cap.reason.rawValue },
      .integer("over") { $0.overByteCount }, .text("when_full") { $0.account.whenFull.rawValue },
      .integer("live") { $0.explanation.total.liveByteCount },
      .integer("history") { $0.historyByteCount },
      .integer("trash") { $0.explanation.total.trashByteCount },
      .integer("logs") { $0.logByteCount }, .integer("documents") { $0.documentByteCount },
      .integer("mailboxes") { $0.mailboxByteCount }, .integer("chains") { $0.chainByteCount },
      .integer("public_links") { $0.publicLinkByteCount },
      .integer("uploads") { $0.explanation.uploadByteCount },
      .integer("collectable") { $0.explanation.collectableByteCount },
      .list("folders", shares("folder")) { $0.explanation.folders },
      .list("writers", shares("account")) { $0.explanation.writers },
    ])
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
      history      \(size(historyByteCount))
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
      head, Self.shares("folder").text(explanation.folders, at: now),
      Self.shares("account").text(explanation.writers, at: now),
    ].joined(separator: "\n")
  }

  private static func shares(_ what: String) -> Listing<UsageExplanation.Share> {
    Listing([
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
