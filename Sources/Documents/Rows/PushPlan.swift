import Base
import Crypto
import Requests
import Storage

/// What a batch does to the documents of its account and of others, once it was judged.
struct PushPlan: Sendable {
  /// A version that is new.
  struct Fresh: Sendable {
    let version: DocumentVersion
    /// False if a later one of the batch replaces it, a deletion was there before, or it removes accounts.
    var isCurrent: Bool
    /// Names the text that its rows share; nil if it is for its own account alone.
    let text: Identifier?
  }

  /// The numbers of the sequences at which it was judged, of all accounts that it can change.
  let numbers: [Identifier: Int64]
  private(set) var fresh: [Fresh] = []
  /// The stored versions that are replaced in the device's own account.
  private(set) var replaced: [CurrentVersion] = []
  /// How many versions of each document it replaces there, those of the batch and those after a deletion included.
  private(set) var replacedCounts: [Identifier: Int] = [:]
  /// What it does in other accounts.
  private(set) var deliveries: Deliveries
  /// How many versions of the batch are stored already.
  private(set) var repeatedCount = 0
  /// The documents that were deleted before a version of the batch.
  private(set) var deleted: Set<Identifier> = []
  /// The charge of its deletions of documents that are stored, each as far as it needs no room in a batch that only deletes.
  private var deletionByteCount: Int64 = 0
  /// The highest counter of the device, with this batch.
  private(set) var highest: Int64 = 0

  /// Judges a batch by the rows. Throws every failure at once.
  init(_ batch: DocumentBatch, by caller: Caller, _ queryable: some Queryable) throws {
    let account = caller.account
    numbers = try Self.numbers(
      of: Deliveries.reached(batch.receivers, by: account, queryable).union([account]), queryable)
    let before = try DocumentDevice.counter(queryable, of: caller.publicKey, account)
    let known = try Self.signatures(batch, through: before, by: caller, queryable)
    let versions = batch.items.map(\.version)
    var states = DocumentStates(
      try VersionRows(queryable, of: account).current(of: Set(versions.map(\.document))),
      author: caller.publicKey, highest: before)
    deliveries = try Deliveries(
      versions.filter { known[$0.counter] != $0.signature }, by: caller, queryable)
    let blobs = try DocumentBlob.nameable(
      Set(versions.filter { known[$0.counter] != $0.signature }.flatMap(\.blobs)), by: account,
      queryable)
    var failures: [VersionFailure] = []
    for item in batch.items {
      let version = item.version
      func fail(_ rule: VersionRule, in receiver: Identifier? = nil) {
        failures.append(
          VersionFailure(
            document: version.document, counter: version.counter, receiver: receiver, rule: rule))
      }
      do throws(VersionRule) {
        guard item.isSigned else { throw .signatureInvalid }
        if known[version.counter] == version.signature {
          repeatedCount += 1
        } else {
          guard blobs.isSuperset(of: version.blobs) else { throw .blobUnknown }
          let effect = try states.apply(version)
          if effect.isCurrent || version.isRemoval {
            for failure in deliveries.apply(version) { fail(failure.rule, in: failure.receiver) }
          }
          add(version, effect, after: before)
        }
      } catch { fail(error) }
    }
    guard failures.isEmpty else {
      throw DocumentRefusal.versionsRefused(failures, highest: before)
    }
    highest = states.highest
  }

  private static func numbers(
    of accounts: Set<Identifier>, _ queryable: some Queryable
  ) throws -> [Identifier: Int64] {
    let numbers = try queryable.rows(in: accounts.sorted().map { .id($0) }) { list in
      "SELECT id, seq FROM sync.accounts WHERE id IN (\(list))"
    } row: { row in
      (try row.id(0), try row.integer(1))
    }
    return Dictionary(uniqueKeysWithValues: numbers)
  }

  /// The signatures of the device's stored versions with counters of the batch. Removals are in other accounts alone.
  private static func signatures(
    _ batch: DocumentBatch, through counter: Int64, by caller: Caller, _ queryable: some Queryable
  ) throws -> [Int64: [UInt8]] {
    var counters: [Identifier: [Int64]] = [:]
    for version in batch.items.map(\.version) where version.counter <= counter {
      for account in version.isRemoval ? version.receivers : [caller.account] {
        counters[account, default: []].append(version.counter)
      }
    }
    var signatures: [Int64: [UInt8]] = [:]
    for (account, counters) in counters {
      signatures.merge(
        try VersionRows(queryable, of: account).signatures(of: caller.publicKey, counters)
      ) { first, _ in first }
    }
    return signatures
  }

  private mutating func add(
    _ version: DocumentVersion, _ effect: DocumentStates.Effect, after before: Int64
  ) {
    for replaced in effect.replaced {
      if replaced.author == version.author, replaced.counter > before {
        if let index = fresh.firstIndex(where: { $0.version.counter == replaced.counter }) {
          fresh[index].isCurrent = false
        }
      } else {
        self.replaced.append(replaced)
      }
    }
    replacedCounts[version.document, default: 0] += effect.replaced.count
    if !effect.isCurrent, !version.isRemoval {
      deleted.insert(version.document)
      replacedCounts[version.document, default: 0] += 1
    }
    if version.isDeletion, effect.replaced.contains(where: { $0.number > 0 }) {
      deletionByteCount += min(version.chargedByteCount, DocumentVersion.deletionByteCountMax)
    }
    fresh.append(
      Fresh(
        version: version, isCurrent: effect.isCurrent,
        text: version.receivers.isEmpty ? nil : Random.identifier()))
  }

  /// Whether anything is replaced, or comes after a deletion.
  var replaces: Bool {
    !replaced.isEmpty || fresh.contains { !$0.isCurrent && !$0.version.isRemoval }
  }

  /// Whether it only deletes documents, or removes accounts from them.
  var onlyDeletes: Bool { fresh.allSatisfy(\.version.isDeletion) }

  /// The versions that have a row in the device's own account.
  func stored(keeping keeps: Bool) -> [Fresh] {
    fresh.filter { $0.isCurrent || (keeps && !$0.version.isRemoval) }
  }

  /// The charge of the versions that are never current, if they are kept.
  var pastByteCount: Int64 {
    stored(keeping: true).filter { !$0.isCurrent }.reduce(0) { $0 + $1.version.chargedByteCount }
  }

  /// The versions that have a text: some account holds them besides the device's own, or may.
  func texts(keeping keeps: Bool) -> [(id: Identifier, version: DocumentVersion)] {
    let counters = deliveries.counters.union(stored(keeping: keeps).map(\.version.counter))
    return fresh.compactMap { fresh in
      guard let text = fresh.text, counters.contains(fresh.version.counter) else { return nil }
      return (text, fresh.version)
    }
  }

  /// How the totals of its own account change, with or without what is replaced, besides texts that nobody holds.
  func change(keeping keeps: Bool) -> (recordCount: Int64, byteCount: Int64) {
    let current = fresh.count { $0.isCurrent }
    let added =
      stored(keeping: keeps).filter { $0.text == nil }.map(\.version)
      + texts(keeping: keeps).map(\.version)
    let dropped = keeps ? 0 : replaced.reduce(0) { $0 + $1.byteCount }
    return (
      Int64(current - replaced.count), added.reduce(0) { $0 + $1.chargedByteCount } - dropped
    )
  }

  /// The charge that needs no room if nothing replaced is kept: of removals, and of a batch of deletions alone. A full
  /// account can delete, and each ends something stored before, so their number is bounded.
  var roomlessByteCount: Int64 { removalByteCount + (onlyDeletes ? deletionByteCount : 0) }

  /// The charge of its removals, which is taken without room, also if what is replaced is kept.
  var removalByteCount: Int64 {
    let counters = deliveries.counters
    return fresh.map(\.version).filter { $0.isRemoval && counters.contains($0.counter) }
      .reduce(0) { $0 + $1.chargedByteCount }
  }
}
