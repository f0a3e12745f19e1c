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
    /// What its devices wrote for both accounts, as long as one of them holds it, and until that is swept.
    var texts: Set<Version> = []
    /// Whether the other account has ever written here.
    var hasReceived = false
    /// The edits that its devices have pushed of each document, and what they deleted.
    var promised: [Identifier: Set<UInt64>] = [:]
    var deleted: Set<Identifier> = []
    /// What the other account sent of these after their deletion was forgotten.
    var returned: Set<Identifier> = []
    /// The edits that the other account took back. A device may have them all the same.
    var takenBack: [Identifier: Set<UInt64>] = [:]

    var current: [Version] { rows.filter { $0.replaced == nil }.map(\.version) }

    var usage: Int64 {
      rows.reduce(base + texts.reduce(0) { $0 + $1.byteCount }) {
        $0 + ($1.version.to == nil ? $1.version.byteCount : 0) + ($1.replaced == nil ? 1000 : 0)
      }
    }

    mutating func replace(_ versions: [Version], at now: Instant) {
      for index in rows.indices where versions.contains(rows[index].version) {
        rows[index].replaced = rows[index].replaced ?? now
      }
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
  /// Whether one of the two accounts has accepted a share of the other's.
  var areContacts = false

  /// An entry of the clock for each of 32 versions side by side, and the row.
  private static let deletionByteCountMax: Int64 = 32 * 40 + 128
  private static let retention = Instant.Span.days(90)

  mutating func push(
    _ batch: [Version], by author: Key, of id: Identifier, at now: Instant
  ) -> Outcome {
    guard let before = accounts[id], before.known[author] != nil else { return .unknownKey }
    let counter = before.counters[author] ?? 0
    let new = batch.filter { version in
      let holder = version.isRemoval ? version.to.flatMap { accounts[$0] } : before
      return holder?.rows.contains { $0.version == version } == false
    }
    let kept = storing(new, of: id, keeping: before.kept != nil, at: now)
    guard kept.failures.isEmpty else { return .refused(kept.failures, counter: counter) }
    let bare = storing(new, of: id, keeping: false, at: now)
    let room = max(before.usage, before.cap)
    guard let after = [kept, bare].first(where: { $0.neededByteCount <= room }), after.hasRoomThere
    else { return .full }
    accounts.merge(after.accounts) { $1 }
    return .stored(
      counter: accounts[id]?.counters[author] ?? 0, stored: Int64(new.count),
      repeated: Int64(batch.count - new.count), deleted: after.deleted.sorted())
  }

  /// What becomes of the accounts by a batch.
  private struct Storing {
    var accounts: [Identifier: Account] = [:]
    var failures: [String] = []
    /// The documents that were deleted before a version.
    var deleted: Set<Identifier> = []
    /// The usage that must have room, without what is taken at any usage.
    var neededByteCount: Int64 = 0
    /// Whether the other account has room for its records.
    var hasRoomThere = true
  }

  private func storing(
    _ versions: [Version], of id: Identifier, keeping keeps: Bool, at now: Instant
  ) -> Storing {
    var storing = Storing()
    guard let before = accounts[id], let other = accounts.keys.first(where: { $0 != id }),
      let thereBefore = accounts[other]
    else { return storing }
    var (own, there) = (before, thereBefore)
    let onlyDeletes = versions.allSatisfy { $0.body == nil }
    let stored = Set(before.current)
    var roomless: Int64 = 0
    for version in versions {
      let others = own.current.filter { $0.document == version.document }
      let isLate = !version.isRemoval && others.contains(where: \.isDeletion)
      let covered = others.filter { version.body == nil || $0.isCovered(by: version.clock) }
      guard version.counter > own.counters[version.author] ?? 0 else {
        storing.failures.append("counter_used")
        continue
      }
      guard isLate || others.allSatisfy({ $0.author != version.author || covered.contains($0) })
      else {
        storing.failures.append("own_version_uncovered")
        continue
      }
      own.counters[version.author] = version.counter
      if version.isDeletion { own.deleted.insert(version.document) }
      own.promised[version.document, default: []].formUnion(version.edits)
      if isLate {
        storing.deleted.insert(version.document)
      } else if !version.isRemoval {
        if onlyDeletes, !keeps, !stored.isDisjoint(with: covered) {
          roomless += min(version.byteCount, Self.deletionByteCountMax)
        }
        own.replace(covered, at: now)
      }
      if !version.isRemoval {
        own.rows.append(Row(version: version, stored: now, replaced: isLate ? now : nil))
      }
      if !isLate, version.to == other, let rule = give(version, to: &there, at: now) {
        storing.failures.append(rule)
      }
    }
    own.rows.removeAll { $0.replaced != nil && !keeps && !before.rows.contains($0) }
    // Of a batch only the last version of a document comes there.
    there.rows.removeAll {
      $0.replaced != nil && !thereBefore.rows.contains($0)
        && (there.kept == nil || versions.contains($0.version))
    }
    let given = there.rows.map(\.version).filter { versions.contains($0) }
    let ended = Set(thereBefore.current).subtracting(there.current)
    let endedDocuments = Set(ended.map(\.document))
    let growth =
      given.count { !$0.isRemoval || endedDocuments.contains($0.document) } - ended.count
    storing.hasRoomThere =
      growth <= 0 || thereBefore.usage + Int64(growth) * 1000 <= thereBefore.cap
    let held = Set((own.rows + there.rows).map(\.version))
    let released = Set((before.rows + thereBefore.rows).map(\.version)).subtracting(held)
    own.texts.formUnion(versions.filter { $0.to != nil && held.contains($0) })
    roomless += given.filter(\.isRemoval).reduce(0) { $0 + $1.byteCount }
    if keeps { storing.neededByteCount = own.usage - roomless }
    own.texts.subtract(released)
    if !keeps { storing.neededByteCount = own.usage - roomless }
    // What nobody holds of an account that gets nothing now is swept later.
    if !given.isEmpty { there.texts.subtract(released) }
    storing.accounts = [id: own, other: there]
    return storing
  }

  /// Gives a version to the other account. Returns the rule that it breaks there.
  private func give(
    _ version: Version, to account: inout Account, at now: Instant
  ) -> String? {
    guard version.isRemoval || areContacts else { return "not_a_contact" }
    let current = account.current.filter { $0.document == version.document }
    let sent = current.filter { $0.to == version.to }
    let isMerged =
      sent.isEmpty && !current.isEmpty
      && version.to.flatMap { accounts[$0] }?.hasReceived == true
    guard !current.contains(where: \.isDeletion),
      !version.isRemoval || isMerged || sent.contains(where: \.isShared)
    else { return nil }
    let marks = sent.filter { $0.isRemoval && $0.author != version.author }
    guard version.isRemoval || marks.allSatisfy({ $0.isCovered(by: version.clock) }) else {
      return "removal_uncovered"
    }
    let replaced =
      version.isRemoval ? sent : sent.filter { $0.author == version.author } + marks
    if version.isRemoval {
      for old in replaced {
        account.takenBack[version.document, default: []].formUnion(old.edits)
      }
    }
    account.replace(replaced, at: now)
    account.rows.append(Row(version: version, stored: now))
    account.counters[version.author] = version.counter
    account.hasReceived = true
    if account.deleted.contains(version.document) { account.returned.insert(version.document) }
    return nil
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

  /// Ends the charge of what no account holds any more.
  mutating func releaseTexts() {
    let held = Set(accounts.values.flatMap { $0.rows.map(\.version) })
    for id in accounts.keys { accounts[id]?.texts.formIntersection(held) }
  }

  /// Whether a deletion is old enough, or every device has said that it has it. A contact cannot say so.
  func mayForget(_ row: Row, of account: Account, at now: Instant) -> Bool {
    Self.mustForget(row, at: now)
      || !areContacts && account.known.values.allSatisfy { row.version.isCovered(by: $0) }
  }

  static func mustForget(_ row: Row, at now: Instant) -> Bool { row.stored + retention <= now }

  mutating func forget(_ row: Row, of id: Identifier) {
    accounts[id]?.rows.removeAll { $0 == row }
    accounts[id]?.forgotten.merge([row.version.author: row.version.counter]) { max($0, $1) }
  }
}
