import Accounts
import Base
import Requests
import Storage

/// What a batch does in one of the other accounts that its versions name.
struct Delivery: Sendable {
  let receiver: Identifier
  /// Whether it is the first that the account gets of the device.
  let isFirst: Bool
  /// The last version of each document: the earlier ones were never current there.
  fileprivate(set) var versions: [Identifier: DocumentVersion] = [:]
  fileprivate(set) var replaced: [CurrentVersion] = []
  /// How many of them are of each document.
  fileprivate(set) var replacedCounts: [Identifier: Int] = [:]

  /// The records for which the receiver needs room. A removal takes the place of one that it ends, or is taken without.
  var roomRecordCount: Int64 {
    let needing = versions.values.count { version in
      !version.isRemoval || replacedCounts[version.document, default: 0] > 0
    }
    return Int64(needing - replaced.count)
  }

  /// Whether it only removes the account from documents.
  var onlyRemoves: Bool { versions.values.allSatisfy(\.isRemoval) }
}

/// What a batch does in other accounts. They hear of it as their own devices' changes are heard of.
struct Deliveries: Sendable {
  private var deliveries: [Identifier: Delivery] = [:]
  private var states: [Identifier: ReceivedStates] = [:]
  /// The accounts that get nothing but removals.
  private var strangers: Set<Identifier> = []
  /// The accounts that hold no version of this device.
  private var unwritten: Set<Identifier> = []
  /// Those of them that have as many other devices as they may.
  private var full: Set<Identifier> = []
  /// How many more versions of this account the others take.
  private var room: [Identifier: Int64] = [:]

  /// A rule that a version breaks in an account.
  typealias Failure = (receiver: Identifier, rule: VersionRule)

  /// The accounts that a batch can change, by contact or earlier versions. A stranger's request locks no row of theirs.
  static func reached(
    _ accounts: Set<Identifier>, by sender: Identifier, _ queryable: some Queryable
  ) throws -> Set<Identifier> {
    let isKnown = Contacts.areContacts("a.id", "$1")
    let reached = try queryable.rows(in: accounts.sorted().map { .id($0) }, .id(sender)) { list in
      """
      SELECT a.id FROM sync.accounts AS a
      WHERE a.id IN (\(list)) AND (\(isKnown) OR EXISTS (
        SELECT 1 FROM sync.document_devices AS d
        WHERE d.writer_id = $1 AND d.account_id = a.id))
      """
    } row: { row in
      try row.id(0)
    }
    return Set(reached)
  }

  /// Reads what the receivers have of the documents that are sent to them.
  init(_ versions: [DocumentVersion], by caller: Caller, _ queryable: some Queryable) throws {
    var documents: [Identifier: Set<Identifier>] = [:]
    var written: Set<Identifier> = []
    for version in versions {
      for receiver in version.receivers where receiver != caller.account {
        documents[receiver, default: []].insert(version.document)
        if !version.isRemoval { written.insert(receiver) }
      }
    }
    strangers = [caller.account]
    for (receiver, documents) in documents {
      let highest = try DocumentDevice.counter(queryable, of: caller.publicKey, receiver)
      states[receiver] = ReceivedStates(
        try VersionRows(queryable, of: receiver).current(of: documents), author: caller.publicKey,
        of: caller.account, highest: highest,
        hasWritten: try highest > 0
          || DocumentDevice.isAny(of: caller.account, in: receiver, queryable))
      if highest == 0 { unwritten.insert(receiver) }
      if written.contains(receiver) {
        if try !Contacts.receives(receiver, from: caller.account, queryable) {
          strangers.insert(receiver)
        } else {
          if highest == 0,
            try !DocumentDevice.hasRoom(in: receiver, for: caller.account, queryable)
          {
            full.insert(receiver)
          }
          room[receiver] =
            try ReceivedStates.countOfOneMax
            - Self.held(by: receiver, from: caller.account, queryable)
        }
      }
    }
  }

  /// How many current versions of a sender an account holds, or of all if those are too few to come near the bound.
  private static func held(
    by receiver: Identifier, from sender: Identifier, _ queryable: some Queryable
  ) throws -> Int64 {
    let max = ReceivedStates.countOfOneMax
    return try queryable.first(
      """
      SELECT CASE WHEN t.record_count <= $3 THEN t.record_count ELSE (
        SELECT count(*) FROM (
          SELECT 1 AS one FROM sync.document_versions AS v
          WHERE v.account_id = $1 AND v.writer_id = $2 AND v.replaced_ms IS NULL LIMIT $4
        ) AS held) END
      FROM sync.document_totals AS t WHERE t.account_id = $1
      """, .id(receiver), .id(sender),
      .integer(max - Int64(DocumentBatch.versionCountMax)), .integer(max)
    ) { row in try row.integer(0) } ?? 0
  }

  /// Applies a version. Returns the rules that it breaks.
  mutating func apply(_ version: DocumentVersion) -> [Failure] {
    var failures: [Failure] = []
    for receiver in version.receivers {
      do throws(VersionRule) { try apply(version, in: receiver) } catch {
        failures.append((receiver, error))
      }
    }
    return failures
  }

  private mutating func apply(
    _ version: DocumentVersion, in receiver: Identifier
  ) throws(VersionRule) {
    guard var state = states[receiver] else { throw .notAContact }
    guard version.isRemoval || !strangers.contains(receiver) else { throw .notAContact }
    guard version.isRemoval || !full.contains(receiver) else { throw .tooManyDevices }
    guard let replaced = try state.apply(version) else { return }
    let growth = Int64(1 - replaced.count)
    if let room = room[receiver], !version.isRemoval {
      guard growth <= max(0, room) else { throw .tooManyVersions }
    }
    room[receiver]? -= growth
    states[receiver] = state
    var delivery =
      deliveries[receiver]
      ?? Delivery(receiver: receiver, isFirst: unwritten.contains(receiver))
    delivery.versions[version.document] = version
    // Those of the batch itself have no row.
    let stored = replaced.filter { $0.number > 0 }
    delivery.replaced += stored
    delivery.replacedCounts[version.document, default: 0] += stored.count
    deliveries[receiver] = delivery
  }

  /// In the order of the receivers.
  var all: [Delivery] { deliveries.values.sorted { $0.receiver < $1.receiver } }

  /// The accounts that get more than removals.
  var written: [Identifier] { all.filter { !$0.onlyRemoves }.map(\.receiver) }

  /// The counters of the versions that some account gets.
  var counters: Set<Int64> {
    Set(deliveries.values.flatMap { $0.versions.values.map(\.counter) })
  }
}
