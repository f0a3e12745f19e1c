import Accounts
package import Acts
import Answers
import Archive
package import Base
package import CommandLine
package import Configuration
import JSON
import KnownProtocols
import KnownStores
import Ledger
import Objects
import Repair
package import Storage
import Stores
import Subscriptions
import Sync
import S3

/// Writes one account to an archive.
package struct AccountExport {
  private let database: Database
  private let configuration: DatabaseConfiguration
  private let writer: ArchiveWriter
  /// Whether the account's deletion waits for this export.
  private var isAwaited = false
  private var counts: [(name: String, count: Int64)] = []
  private var deliveryCount = 0
  private var erasedCount = 0
  private var left: (shares: Int64, links: Int64) = (0, 0)
  private var leftByProtocols: [(name: String, count: Int64, what: String)] = []
  private var objects: [ProtocolExport.Object] = []

  /// Writes the named account to a new archive, and records that by `act`. A deletion that waits for the
  /// export goes on, `deletionDelay` later.
  package static func write(
    _ name: String, to path: String, deletionDelay: Instant.Span, _ database: Database,
    _ configuration: DatabaseConfiguration, _ act: Act
  ) throws -> Answer {
    let now = configuration.clock.now()
    let writer = try ArchiveWriter(
      path, kind: AccountArchive.kind, format: AccountArchive.format, at: now)
    var writing = AccountExport(database: database, configuration: configuration, writer: writer)
    let account = try writing.run(name)
    let (text, members, isAwaited) = (writing.text, writing.members, writing.isAwaited)
    let erases = now + deletionDelay
    let (digest, byteCount) = (Hex.encode(try writer.finish()), writer.byteCount)
    return try act.atOnce(at: now) { transaction in
      // Only if the snapshot is from after the request: nothing was written since then.
      let isLeaving =
        try isAwaited && AccountDeletion.exported(account.id, erasing: erases, in: transaction)
      return Act.Effect(
        subject: account.id.description, name: account.username, account: account.id,
        before: .object([]), after: ["sha256": .string(digest)],
        text: text + "archive     \(path), \(ByteCount.text(byteCount))\n"
          + "sha256      \(digest), of its manifest\n"
          + (isLeaving ? "leaving     it is erased from \(erases) on\n" : ""),
        members: members + [
          .init("account", .string(account.id.description)), .init("archive", .string(path)),
          .init("bytes", .integer(byteCount)), .init("sha256", .string(digest)),
          .init("erases", isLeaving ? .string(erases.description) : .null),
        ])
    }
  }

  /// Writes rows and small contents as of one snapshot. Large contents follow, which no one deletes
  /// meanwhile.
  private mutating func run(_ name: String) throws -> Account {
    // Without large contents there may be no object store.
    let store = try configuration.objects.flatMap { try ObjectStores.find($0) }
    let hold = try store?.hold()
    let progress = Progress("exporting", .bytes)
    let account = try database.read { reader in
      let account = try DatabaseSession.account(reader, name)
      isAwaited = try AccountDeletion.find(account.id, reading: reader)?.state == .exporting
      try writeAccount(account.id, reader)
      for room in KnownProtocols.all {
        let export = try room.export(account.id, from: reader, to: writer) { progress.done += $0 }
        counts += export.counts
        objects += export.objects
        leftByProtocols += export.left
      }
      try writeBilling(of: account.id, reader)
      return account
    }
    for object in objects {
      guard let store else {
        throw CommandFailure(
          .configuration, "COFFER_OBJECTS names no object store: large contents are stored there")
      }
      guard let content = try store.open(object.key), content.byteCount == object.byteCount else {
        throw CommandFailure(
          .refused, "\(object.file) is not in the object store; run coffer doctor for details")
      }
      try writer.add(object.file, content.file()) { progress.done += $0 }
    }
    try hold?.check()
    return account
  }

  private var text: String {
    let all = counts + [("deliveries", Int64(deliveryCount))]
    var text = Prose.fields(all.map { ($0.name, String($0.count)) }, width: 12)
    if erasedCount > 0 {
      let were = erasedCount == 1 ? "1 delivery was" : "\(erasedCount) deliveries were"
      text +=
        "erased      \(were), with the account that bought it before; an import asks its store "
        + "again\n"
    }
    if left.links > 0 || left.shares > 0 {
      text +=
        "left        \(left.links) links and \(left.shares) shares, that involve other accounts\n"
    }
    for (_, count, what) in leftByProtocols where count > 0 {
      text += "left        \(count) \(what)\n"
    }
    return text
  }

  private var members: [JSONValue.Member] {
    let held = counts.map { JSONValue.Member($0.name, .integer($0.count)) }
    let missing = leftByProtocols.map { JSONValue.Member($0.name, .integer($0.count)) }
    return held + [
      .init("deliveries", .integer(Int64(deliveryCount))),
      .init("erased_deliveries", .integer(Int64(erasedCount))),
      .init("links_left", .integer(left.links)), .init("shares_left", .integer(left.shares)),
    ] + missing
  }

  private mutating func writeAccount(_ id: Identifier, _ reader: Reader) throws {
    guard let moved = try MovedAccount(reader, id) else {
      throw CommandFailure(.refused, "there is no account \(id)")
    }
    let behind = try MovedAccount.leftBehind(reader, id)
    guard !behind.isDeleting else {
      throw CommandFailure(.unavailable, "a folder of the account is being deleted; try again")
    }
    left = (behind.shares, behind.links)
    try writer.add(AccountArchive.account, moved.json.encoded())
  }

  private mutating func writeBilling(of account: Identifier, _ reader: Reader) throws {
    let ledger = Ledger(stores: .known, configuration)
    let belongings = try ledger.belongings(of: account, reading: reader)
    var deliveries: [ArchivedDelivery] = []
    var secrets: [JSONValue.Member] = []
    if !belongings.subscriptions.isEmpty {
      let sealing = try configuration.neededSealingKeys()
      for (index, delivery) in belongings.deliveries.enumerated() {
        let file = ArchiveWriter.numbered(AccountArchive.deliveries, index + 1)
          .replacing(".json", with: ".message")
        try writer.add(
          file,
          try KeptDelivery.message(of: delivery, stores: .known, sealing: sealing, reading: reader))
        deliveries.append(
          ArchivedDelivery(
            provider: delivery.provider, environment: delivery.environment, id: delivery.deliveryID,
            received: delivery.received, isForeign: delivery.disposition == .foreign, file: file))
      }
      for key in belongings.subscriptions {
        guard let secret = try ledger.secret(of: key, sealing, reading: reader) else { continue }
        secrets.append(
          .init(key.description, .string(String(decoding: secret.exposed, as: UTF8.self))))
      }
    }
    (deliveryCount, erasedCount) = (deliveries.count, belongings.erasedCount)
    try writer.add(
      AccountArchive.billing,
      JSONValue.object([
        .init("subscriptions", .array(belongings.subscriptions.map { .string($0.description) })),
        .init("decisions", .array(belongings.decided.map(\.json))),
        .init("deliveries", .array(deliveries.map(\.json))),
        .init("erased", .array(belongings.erased.map { .string($0.description) })),
        .init("secrets", .object(secrets)),
      ]).encoded())
  }
}
