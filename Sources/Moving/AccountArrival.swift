import Accounts
package import Acts
import Archive
import Base
package import CommandLine
package import Configuration
import Crypto
import Documents
import JSON
import KnownStores
import Ledger
import Logs
import Objects
import Repair
package import Storage
import Stores
import Subscriptions
import Sync
import S3

/// Brings a checked account into this Coffer, in two steps that can each be repeated.
package struct AccountArrival: Sendable {
  private let arriving: ArrivingAccount
  private let database: Database
  private let configuration: DatabaseConfiguration
  private let now: Instant

  private static let deliveryCountAtOnce = 50

  package init(
    _ arriving: ArrivingAccount, _ database: Database, _ configuration: DatabaseConfiguration
  ) {
    self.arriving = arriving
    self.database = database
    self.configuration = configuration
    now = configuration.clock.now()
  }

  private var account: Identifier { arriving.account.id }

  /// Throws if anything is missing here, or in the archive, that a later step needs.
  private func requireMeans() throws {
    guard large.isEmpty || configuration.objects != nil else {
      throw CommandFailure(
        .configuration, "COFFER_OBJECTS is not set: large contents are stored there")
    }
    try arriving.requirePast(at: now)
    if !arriving.secrets.isEmpty { _ = try configuration.neededSealingKeys() }
    for delivery in arriving.deliveries { _ = try prepared(delivery) }
  }

  /// Reads of what only stores can report again: those requested, and those that could not be.
  package struct Reads: Sendable {
    var asked: [ObjectKey] = []
    /// Not requested, because a key of the store's API or the purchase's token is missing.
    var unasked: [ObjectKey] = []
  }

  /// Takes in deliveries and decisions. They are stored under their ids, so each comes in only once.
  package func takeInPurchases() throws -> Reads {
    try requireMeans()
    let ledger = Ledger(stores: .known, configuration)
    let (arriving, account, now) = (arriving, account, now)
    let transferred = arriving.transferred
    try database.read { reader in
      try ledger.requireServersRules(reading: reader)
      if let obstacle = try arriving.account.obstacle(reading: reader) {
        throw MovingError(obstacle)
      }
      if let refusal = ledger.refusal(of: arriving.decided, with: arriving.subscriptions, at: now) {
        throw MovingError(refusal)
      }
      for key in arriving.subscriptions {
        guard let owner = try Ledger.owner(of: key, reading: reader), owner != account else {
          continue
        }
        // An interrupted run may leave it with an account that was erased there and that its store names.
        guard transferred.contains(key), try Account.find(reader, owner) == nil else {
          throw MovingError("another account owns \(key) here")
        }
      }
    }
    var rest = arriving.deliveries[...]
    while !rest.isEmpty {
      let slice = rest.prefix(Self.deliveryCountAtOnce)
      rest = rest.dropFirst(slice.count)
      let known = try slice.map { try prepared($0) }
      try database.write(for: nil) { try ledger.takeIn(known, in: $0) }
    }
    let payloads = try arriving.secrets.map { key, secret in
      let sealing = try configuration.neededSealingKeys()
      return (key, sealing.seal(secret.exposed, context: PreparedDelivery.payloadContext(key)))
    }
    return try database.write(for: nil) { transaction in
      for (key, payload) in payloads {
        try ledger.takeIn(key, payload: payload, at: now, in: transaction)
      }
      try ledger.takeIn(arriving.decided, of: account, at: now, in: transaction)
      var reads = Reads()
      for key in arriving.erased {
        switch try ledger.read(key, at: now, in: transaction) {
        case .asked: reads.asked.append(key)
        case .withoutKey, .withoutToken: reads.unasked.append(key)
        }
      }
      return reads
    }
  }

  /// Decodes the delivery with today's decoder, and seals it with this Coffer's key.
  private func prepared(_ archived: ArchivedDelivery) throws -> PreparedDelivery {
    guard let store = StoreList.known[archived.provider],
      let file = arriving.archive.file(named: archived.file)
    else { throw MovingError("the delivery \(archived.id) is incomplete") }
    let message = KeptDelivery.parts(of: try arriving.archive.bytes(of: file))
    let decoded = try store.decoded(
      again: KeptMessage(
        deliveryID: archived.id, environment: archived.environment, received: archived.received,
        isForeign: archived.isForeign, body: message.body))
    return PreparedDelivery(
      decoded, of: store, received: archived.received, head: message.head, body: message.body,
      sealing: try configuration.neededSealingKeys(), search: configuration.searchKey)
  }

  // MARK: the tree

  package func takeInTree(_ act: Act, _ reads: Reads) throws -> Answer {
    let objects = try writeObjects()
    do {
      return try insert(act, objects.keys, reads)
    } catch {
      // Then the account may be here, or still come, with rows that name the objects. The sweep for orphans deletes
      // those that no row names.
      if case DatabaseError.uncertain = error { throw error }
      for key in objects.keys.values { try? objects.store?.delete(key) }
      throw error
    }
  }

  private var large: [ArchiveReader.File] {
    arriving.archive.files(in: TreeExport.contents)
      .filter { $0.byteCount > MovedContent.inlineByteCountMax }
      + arriving.archive.files(in: ArrivingLogs.snapshots)
      + arriving.archive.files(in: ArrivingDocuments.blobs)
  }

  /// Stores large contents, each under a new key. Returns the keys by the files' names.
  private func writeObjects() throws -> (keys: [String: Identifier], store: (any ObjectStore)?) {
    guard !large.isEmpty, let place = configuration.objects else { return ([:], nil) }
    // An account may come before the first start of coffer-sync.
    let store = try ObjectStores.open(
      place, isFirst: database.read { try History.id(reading: $0) } == nil)
    let total = large.reduce(0) { $0 + $1.byteCount }
    let progress = Progress("importing", .bytes, of: total)
    var keys: [String: Identifier] = [:]
    do {
      for file in large {
        let writer = try store.create(Random.identifier())
        try arriving.archive.read(file) { (part) throws(ArchiveError) in
          do throws(ObjectStoreError) { try writer.write(unsafe part.span.bytes) } catch {
            throw ArchiveError(.unavailable, "\(error)")
          }
          writer.waitForRoom()
          progress.done += Int64(part.count)
        }
        try writer.finish()
        keys[file.name] = writer.key
      }
    } catch {
      for key in keys.values { try? store.delete(key) }
      throw error
    }
    return (keys, store)
  }

  private func insert(
    _ act: Act, _ objects: [String: Identifier], _ reads: Reads
  ) throws -> Answer {
    let (arriving, catalogue, now) = (arriving, configuration.catalogue, now)
    let digest = Hex.encode(arriving.archive.digest)
    return try act.atOnce(at: now) { transaction in
      let (moved, archive) = (arriving.account, arriving.archive)
      try moved.insert(at: now, in: transaction)
      try arriving.tree.requireForgotten(in: transaction)
      for file in archive.files(in: TreeExport.files) {
        for record in try ArrivingAccount.records(file, archive, of: moved.id, areChecked: true) {
          try record.insert(
            contentIn: objects["\(TreeExport.contents)\(record.id)"], in: transaction)
        }
      }
      var documentCount: Int64 = 0
      for file in archive.files(in: TreeExport.contents) {
        documentCount += 1
        if objects[file.name] == nil {
          try MovedContent.insert(
            try archive.bytes(of: file), of: ArrivingAccount.document(file), in: transaction)
        }
      }
      try arriving.logs.insert(
        of: moved.id, pages: ArrivingAccount.pages(of: archive), objects: objects, at: now,
        in: transaction)
      try arriving.budgets.insert(of: moved.id, in: transaction)
      try arriving.documents.insert(
        of: moved.id, pages: ArrivingAccount.documents(of: archive), objects: objects, at: now,
        in: transaction)
      try arriving.tree.charge(
        catalogue, beside: arriving.logs.weight + arriving.documents.weight, at: now,
        in: transaction)
      let foreign = Int64(arriving.tree.foreignCount)
      return Act.Effect(
        subject: moved.id.description, name: moved.username?.shown, account: moved.id,
        before: .object([]), after: ["sha256": .string(digest), "proven": .bool(moved.isProven)],
        text: "account        \(moved.id)\nrecords        \(arriving.tree.recordCount)\n"
          + "documents      \(documentCount) with content\n"
          + (arriving.logs.count > 0
            ? "logs           \(arriving.logs.count) with \(arriving.logs.messageCount) messages\n"
            : "")
          + (arriving.documents.count > 0 ? "versions       \(arriving.documents.count)\n" : "")
          + "subscriptions  \(arriving.subscriptions.count)\n"
          + (foreign > 0 ? "foreign        \(foreign) records that others signed\n" : "")
          + reads.text,
        members: [
          .init("account", .string(moved.id.description)),
          .init("username", moved.username.map { .string($0.shown) } ?? .null),
          .init("records", .integer(arriving.tree.recordCount)),
          .init("documents", .integer(documentCount)),
          .init("logs", .integer(arriving.logs.count)),
          .init("messages", .integer(arriving.logs.messageCount)),
          .init("versions", .integer(arriving.documents.count)),
          .init("subscriptions", .integer(Int64(arriving.subscriptions.count))),
          .init("foreign_records", .integer(foreign)), .init("sha256", .string(digest)),
        ] + reads.members)
    }
  }
}

extension AccountArrival.Reads {
  fileprivate var text: String {
    asked.map { "read           \($0) is read next, because a part of it was erased there\n" }
      .joined()
      + unasked.map { key in
        "unread         \(key): a part of it was erased there; once a key or its token is "
          + "available, run coffer subscription read\n"
      }.joined()
  }

  fileprivate var members: [JSONValue.Member] {
    [
      .init("read", .array(asked.map { .string($0.description) })),
      .init("unread", .array(unasked.map { .string($0.description) })),
    ]
  }
}
