import Base
import Requests
import Storage

/// What a batch does to the documents of its account, once it was judged.
struct PushPlan: Sendable {
  /// A version that is new.
  struct Fresh: Sendable {
    let version: DocumentVersion
    /// False if a later one of the batch replaces it, or a deletion was there before.
    var isCurrent: Bool
  }

  /// The number of the account's sequence at which it was judged.
  let number: Int64
  private(set) var fresh: [Fresh] = []
  /// The stored versions that are replaced.
  private(set) var replaced: [CurrentVersion] = []
  /// How many versions of the batch are stored already.
  private(set) var repeatedCount = 0
  /// The documents that were deleted before a version of the batch.
  private(set) var deleted: Set<Identifier> = []
  /// The highest counter of the device, with this batch.
  private(set) var highest: Int64 = 0

  /// Judges a batch by the rows. Throws every failure at once.
  init(_ batch: DocumentBatch, by caller: Caller, _ queryable: some Queryable) throws {
    let account = caller.account
    number =
      try queryable.first("SELECT seq FROM sync.accounts WHERE id = $1", .id(account)) { row in
        try row.integer(0)
      } ?? 0
    let before = try DocumentDevice.counter(queryable, of: caller.publicKey, account)
    let rows = VersionRows(queryable, of: account)
    let known = try rows.signatures(
      of: caller.publicKey, batch.items.map(\.version.counter).filter { $0 <= before })
    var states = DocumentStates(
      try rows.current(of: Set(batch.items.map(\.version.document))), author: caller.publicKey,
      highest: before)
    var failures: [VersionFailure] = []
    for item in batch.items {
      let version = item.version
      do throws(VersionRule) {
        guard item.isSigned else { throw .signatureInvalid }
        if known[version.counter] == version.signature {
          repeatedCount += 1
        } else {
          add(version, try states.apply(version), after: before)
        }
      } catch {
        failures.append(
          VersionFailure(document: version.document, counter: version.counter, rule: error))
      }
    }
    guard failures.isEmpty else {
      throw DocumentRefusal.versionsRefused(failures, highest: before)
    }
    highest = states.highest
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
    if !effect.isCurrent { deleted.insert(version.document) }
    fresh.append(Fresh(version: version, isCurrent: effect.isCurrent))
  }

  /// Whether anything is replaced, or comes after a deletion.
  var replaces: Bool { !replaced.isEmpty || fresh.contains { !$0.isCurrent } }

  /// Whether it only deletes documents.
  var onlyDeletes: Bool { fresh.allSatisfy(\.version.isDeletion) }

  /// How the account's totals change if what is replaced is kept, or is not.
  func change(keeping keeps: Bool) -> (recordCount: Int64, byteCount: Int64) {
    let current = fresh.count { $0.isCurrent }
    let added = fresh.filter { keeps || $0.isCurrent }.reduce(0) {
      $0 + $1.version.chargedByteCount
    }
    let dropped = keeps ? 0 : replaced.reduce(0) { $0 + $1.byteCount }
    return (Int64(current - replaced.count), added - dropped)
  }
}
