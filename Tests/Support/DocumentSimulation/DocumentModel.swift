import Base

/// What coffer-sync must answer and keep of documents of versions.
struct DocumentModel {
  struct Row: Equatable {
    let version: Version
    let stored: Instant
    /// When another took its place; nil while it is current.
    var replaced: Instant?
  }

  struct Account {
    /// For how long the plan keeps what is replaced; nil if it does not.
    let kept: Instant.Span?
    /// The charge of the account without documents.
    let base: Int64
    var cap: Int64
    /// In the order of storing.
    var rows: [Row] = []
    var counters: Clock = [:]
    /// Up to which of each device's deletions are forgotten.
    var forgotten: Clock = [:]
    /// What each device that is not revoked has said that it has.
    var known: [Key: Clock] = [:]

    var current: [Version] { rows.filter { $0.replaced == nil }.map(\.version) }

    var usage: Int64 {
      rows.reduce(base) { $0 + $1.version.byteCount + ($1.replaced == nil ? 1000 : 0) }
    }
  }

  enum Outcome: Equatable {
    case stored(counter: Int64, stored: Int64, repeated: Int64, deleted: [Identifier])
    case refused([String], counter: Int64)
    case full
    case expired
    case unknownKey
  }

  var accounts: [Identifier: Account] = [:]
  /// The edits that each document has been said to have, and which were deleted.
  private(set) var promised: [Identifier: Set<UInt64>] = [:]
  private(set) var deleted: Set<Identifier> = []

  /// An entry of the clock for each of 32 versions side by side, and the row.
  private static let deletionByteCountMax: Int64 = 32 * 40 + 128
  private static let retention = Instant.Span.days(90)

  mutating func push(
    _ batch: [Version], by author: Key, of id: Identifier, at now: Instant
  ) -> Outcome {
    guard let before = accounts[id], before.known[author] != nil else { return .unknownKey }
    let counter = before.counters[author] ?? 0
    let new = batch.filter { version in !before.rows.contains { $0.version == version } }
    let kept = Self.storing(new, in: before, keeping: before.kept != nil, at: now)
    guard kept.failures.isEmpty else { return .refused(kept.failures, counter: counter) }
    let bare = Self.storing(new, in: before, keeping: false, at: now)
    let room = max(before.usage, before.cap)
    let after: Storing
    if kept.account.usage <= room {
      after = kept
    } else if bare.account.usage - bare.roomlessByteCount <= room {
      after = bare
    } else {
      return .full
    }
    let (account, deleted) = (after.account, after.deleted)
    accounts[id] = account
    for version in new {
      promised[version.document, default: []].formUnion(version.edits)
      if version.body == nil { self.deleted.insert(version.document) }
    }
    return .stored(
      counter: account.counters[author] ?? 0, stored: Int64(new.count),
      repeated: Int64(batch.count - new.count), deleted: deleted.sorted())
  }

  /// What becomes of an account by a batch.
  private struct Storing {
    let account: Account
    let failures: [String]
    /// The documents that were deleted before a version.
    let deleted: Set<Identifier>
    /// What deletions of stored documents may take without room, if the batch only deletes.
    let roomlessByteCount: Int64
  }

  private static func storing(
    _ versions: [Version], in before: Account, keeping keeps: Bool, at now: Instant
  ) -> Storing {
    var (after, failures, deleted) = (before, [String](), Set<Identifier>())
    let onlyDeletes = versions.allSatisfy { $0.body == nil }
    let stored = Set(before.current)
    var roomless: Int64 = 0
    for version in versions {
      let others = after.current.filter { $0.document == version.document }
      let isLate = others.contains { $0.body == nil }
      let covered = others.filter { version.body == nil || $0.isCovered(by: version.clock) }
      guard version.counter > after.counters[version.author] ?? 0 else {
        failures.append("counter_used")
        continue
      }
      guard isLate || others.allSatisfy({ $0.author != version.author || covered.contains($0) })
      else {
        failures.append("own_version_uncovered")
        continue
      }
      after.counters[version.author] = version.counter
      if isLate {
        deleted.insert(version.document)
      } else {
        if onlyDeletes, !stored.isDisjoint(with: covered) {
          roomless += min(version.byteCount, deletionByteCountMax)
        }
        for index in after.rows.indices where covered.contains(after.rows[index].version) {
          after.rows[index].replaced = after.rows[index].replaced ?? now
        }
      }
      after.rows.append(Row(version: version, stored: now, replaced: isLate ? now : nil))
    }
    if !keeps {
      after.rows.removeAll { row in row.replaced != nil && !before.rows.contains(row) }
    }
    return Storing(
      account: after, failures: failures, deleted: deleted, roomlessByteCount: roomless)
  }

  /// A page of a pull after a place; nil if the pull is refused.
  mutating func pull(
    _ clock: Clock, after place: Place?, limit: Int, by device: Key, of id: Identifier
  ) -> Result<PulledPage, Refusal> {
    guard let account = accounts[id], account.known[device] != nil else {
      return .failure(Refusal(outcome: .unknownKey))
    }
    guard clock.isEmpty || account.forgotten.allSatisfy({ $0.value <= clock[$0.key] ?? 0 }) else {
      return .failure(Refusal(outcome: .expired))
    }
    accounts[id]?.known[device]?.merge(clock) { max($0, $1) }
    var page = PulledPage(counter: account.counters[device] ?? 0)
    for (author, counter) in account.counters.sorted(by: {
      $0.key.lexicographicallyPrecedes($1.key)
    }) where counter > clock[author] ?? 0 {
      if let place, author.lexicographicallyPrecedes(place.author) { continue }
      let start = max(clock[author] ?? 0, place?.author == author ? place?.counter ?? 0 : 0)
      let versions = account.current.filter { $0.author == author && $0.counter > start }
        .sorted { $0.counter < $1.counter }
      let room = limit - page.versions.count
      page.versions += versions.prefix(room)
      page.hasMore = versions.count > room
      if page.hasMore { break }
      page.clock[author] = counter
    }
    return .success(page)
  }

  struct Place: Equatable {
    let author: Key
    let counter: Int64
  }

  struct PulledPage: Equatable {
    var versions: [Version] = []
    var clock: Clock = [:]
    var hasMore = false
    let counter: Int64

    init(counter: Int64) { self.counter = counter }
  }

  struct Refusal: Error {
    let outcome: Outcome
  }

  // MARK: Time

  /// What is replaced goes after the days of the plan.
  mutating func sweep(at now: Instant) {
    for id in accounts.keys {
      guard let kept = accounts[id]?.kept else { continue }
      accounts[id]?.rows.removeAll { row in row.replaced.map { $0 + kept <= now } ?? false }
    }
  }

  /// Whether a deletion is old enough, or every device has said that it has it.
  static func mayForget(_ row: Row, of account: Account, at now: Instant) -> Bool {
    mustForget(row, at: now) || account.known.values.allSatisfy { row.version.isCovered(by: $0) }
  }

  static func mustForget(_ row: Row, at now: Instant) -> Bool { row.stored + retention <= now }

  mutating func forget(_ row: Row, of id: Identifier) {
    accounts[id]?.rows.removeAll { $0 == row }
    accounts[id]?.forgotten.merge([row.version.author: row.version.counter]) { max($0, $1) }
  }
}
