package import Archive
package import Base
package import HTTPServer
package import Storage

/// What one protocol of coffer-sync brings. It keeps its own rows, and meets others only in accounts, usage and
/// objects. It is added by its folder, its tables and its line in `KnownProtocols`.
package protocol ProtocolRoom: Sendable {
  /// Names the protocol's check in `coffer doctor`.
  static var name: String { get }
  /// The command that repairs what that check finds.
  static var remedy: String { get }

  init(_ host: ProtocolHost)

  /// The endpoints, besides those of accounts and the `PUT` of contents.
  var routes: [Route] { get }

  /// The contents that clients `PUT`.
  var contents: [any ContentPut] { get }

  /// The work that coffer-sync repeats for the protocol.
  var upkeep: [Upkeep] { get }

  /// Takes back one slice of what an erased account has in others, before `erase`. Returns false if nothing was left.
  func withdraw(_ account: Identifier, in transaction: Transaction, now: Instant) throws -> Bool

  /// Erases one slice of what an account keeps, and ends what it shares with others. Returns false if nothing was left.
  static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool

  /// Deletes one slice of what stayed so that others see the account's end. Returns false if nothing was left.
  static func forget(_ account: Identifier, in transaction: Transaction) throws -> Bool

  /// Writes an account's records to an archive, from one snapshot. Large contents follow later.
  static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (_ byteCount: Int64) -> Void
  ) throws -> ProtocolExport

  /// What an account is charged for, by kind, as few rows say that `faults` checks. `UsageAudit` adds up files
  /// itself.
  static func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight]

  /// The part of `weights` that is kept of what was replaced. It makes no room for writes, as versions of files can.
  static func historyByteCount(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> Int64

  /// Whose news concern accounts besides their own, at most `count` for each account; those without any may be missing.
  /// A change of that is reported as `News.Topic.account`.
  static func followed(
    by accounts: [Identifier], atMost count: Int, reading queryable: some Queryable
  ) throws -> [Identifier: [Followed]]

  /// The accounts that owners' news of a topic concern besides the owners, each once for an owner, at most `count`.
  static func followers(
    of owners: [Identifier], in topic: News.Topic, atMost count: Int,
    reading queryable: some Queryable
  ) throws -> [Identifier]

  /// Faults of an account's rows, a line each with ids, read in slices; at most about `Faults.countMax`.
  static func faults(of account: Identifier, in database: Database) throws -> [String]

  /// Puts totals right that other rows decide, before the usage is counted by them. Returns how many were wrong.
  static func repairTotals(of account: Identifier, in database: Database) throws -> Int
}

/// Faults among an account's rows.
package enum Faults {
  /// As many of one protocol as anyone reads.
  package static let countMax = 1000
}

extension ProtocolRoom {
  /// A protocol that keeps everything in the database.
  package var contents: [any ContentPut] { [] }

  /// A protocol without work that is repeated.
  package var upkeep: [Upkeep] { [] }

  /// A protocol whose accounts have nothing in others.
  package func withdraw(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool { false }

  /// A protocol of which nothing stays after `erase`.
  package static func forget(_ account: Identifier, in transaction: Transaction) throws -> Bool {
    false
  }

  /// A protocol that charges for nothing of its own.
  package static func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight] { [:] }

  /// A protocol that keeps nothing of what was replaced, or whose `Account.historyByteCount` has it.
  package static func historyByteCount(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> Int64 { 0 }

  /// A protocol in which no row repeats what others say.
  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    []
  }

  /// A protocol without totals of its own.
  package static func repairTotals(of account: Identifier, in database: Database) throws -> Int {
    0
  }

  /// A protocol that shares nothing with other accounts.
  package static func followed(
    by accounts: [Identifier], atMost count: Int, reading queryable: some Queryable
  ) throws -> [Identifier: [Followed]] { [:] }

  package static func followers(
    of owners: [Identifier], in topic: News.Topic, atMost count: Int,
    reading queryable: some Queryable
  ) throws -> [Identifier] { [] }
}

extension [any ProtocolRoom.Type] {
  /// What an account is charged for by all of them, by the names of the kinds.
  package func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight] {
    try reduce(into: [:]) { weights, room in
      weights.merge(try room.weights(of: account, reading: queryable)) { $0 + $1 }
    }
  }

  /// What all of them keep for an account of what was replaced, besides `Account.historyByteCount`.
  package func historyByteCount(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> Int64 {
    try reduce(0) { sum, room in
      try sum + room.historyByteCount(of: account, reading: queryable)
    }
  }
}

/// What an archive holds of one protocol.
package struct ProtocolExport: Sendable {
  /// A content that is too large for the snapshot's time.
  package struct Object: Sendable {
    package let file: String
    package let key: Identifier
    package let byteCount: Int64

    package init(file: String, key: Identifier, byteCount: Int64) {
      self.file = file
      self.key = key
      self.byteCount = byteCount
    }
  }

  /// By the names of the members that report them.
  package var counts: [(name: String, count: Int64)]
  package var objects: [Object]
  /// What it does not hold: how many, by the name of the member that reports them, and what they are.
  package var left: [(name: String, count: Int64, what: String)]

  package init(
    counts: [(name: String, count: Int64)] = [], objects: [Object] = [],
    left: [(name: String, count: Int64, what: String)] = []
  ) {
    self.counts = counts
    self.objects = objects
    self.left = left
  }
}

/// Work that is repeated, one slice after another.
package struct Upkeep: Sendable {
  /// Names the work in the log when it fails.
  package let name: String
  /// Whether users wait for it: then coffer-sync looks every second, else with each sweep.
  package let isUrgent: Bool
  /// Does a slice of work. Returns false if nothing was left.
  package let slice: @Sendable () throws -> Bool

  package init(_ name: String, isUrgent: Bool, _ slice: @escaping @Sendable () throws -> Bool) {
    self.name = name
    self.isUrgent = isUrgent
    self.slice = slice
  }
}

extension ProtocolHost {
  /// Work on the row of `sync.<table>` whose moment was first to pass, under the name of its queue. The columns are those
  /// of `QueueWork`.
  package func upkeep(
    _ queue: FailingItems.Queue, isUrgent: Bool = false, of table: String, by item: String,
    owner: String? = nil, at moment: String,
    work: @escaping @Sendable (Transaction, Identifier, _ now: Instant) throws -> Void
  ) -> Upkeep {
    let queues = QueueWork(database, clock: clock)
    return Upkeep(queue.name, isUrgent: isUrgent) {
      let now = queues.clock.now()
      return try queues.takeNext(queue, of: table, by: item, owner: owner, at: moment, now: now) {
        transaction, id in
        try work(transaction, id, now)
      }
    }
  }
}
