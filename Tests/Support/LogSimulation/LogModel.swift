import Base

/// What logs there must be, and what they are charged: plain values, counted from scratch at each question.
struct LogModel {
  static let fee: Int64 = 1000
  static let aheadMax = Instant.Span.minutes(10)
  static let overdraftMax: Int64 = 1 << 20
  static let keptSpan = Instant.Span.days(90)
  static let keptAgainSpanMin = Instant.Span.days(30)
  static let logCountMax = 200

  struct Snapshot: Equatable {
    let version: Int64
    let bytes: [UInt8]
    let epoch: Identifier
    /// The first messages of that epoch that it has.
    let covered: Int
  }

  struct Epoch {
    let id: Identifier
    /// In the order of arrival.
    var messages: [Message] = []
    var horizon: Stamp?
    var snapshot: Snapshot?

    var byteCount: Int64 { messages.reduce(0) { $0 + $1.charge } }
    var snapshotByteCount: Int64 { Int64(snapshot?.bytes.count ?? 0) }
    var chargedByteCount: Int64 { byteCount + snapshotByteCount }
  }

  enum Mode: String { case read, write }

  /// What another account may do with a log, once it has accepted.
  struct Share {
    var mode: Mode
    var isAccepted = false
  }

  struct Log {
    let owner: Identifier
    var current: Epoch
    var kept: (epoch: Epoch, end: Instant)?
    var shares: [Identifier: Share] = [:]

    func isSeen(by account: Identifier) -> Bool {
      account == owner || shares[account]?.isAccepted ?? false
    }

    func takesMessages(of account: Identifier) -> Bool {
      account == owner || isSeen(by: account) && shares[account]?.mode == .write
    }

    /// What the log says, by its snapshot and its messages.
    var edits: Set<UInt64> {
      let bytes = current.snapshot?.bytes ?? []
      let starts = stride(from: 0, to: bytes.count, by: Message.editByteCount)
      return Set(starts.map { Message.edit(bytes[$0...]) } + current.messages.map(\.edit))
    }
  }

  struct Refusal: Equatable {
    let status: Int
    let problem: String
  }

  var caps: [Identifier: Int64] = [:]
  private(set) var overdrafts: [Identifier: Int64] = [:]
  private(set) var logs: [Identifier: Log] = [:]
  /// What the cursors mean that the server gave.
  private(set) var cursors: [String: (epoch: Identifier, number: Int)] = [:]

  // MARK: Questions

  func logs(of account: Identifier) -> [Identifier] {
    logs.filter { $0.value.owner == account }.keys.sorted()
  }

  /// The account's root is charged as a record.
  func usage(_ account: Identifier) -> Int64 {
    logs.values.filter { $0.owner == account }.reduce(Self.fee) {
      $0 + Self.fee + $1.current.chargedByteCount
    }
  }

  func overdraft(_ account: Identifier) -> Int64 { overdrafts[account] ?? 0 }

  private func over(_ account: Identifier, by delta: Int64) -> Int64 {
    max(0, usage(account) + delta - (caps[account] ?? 0))
  }

  /// The messages of a batch that an epoch lacks, and the timestamps under which it has another content.
  static func sorted(
    _ batch: [Message], into epoch: Epoch
  ) -> (added: [Message], different: [Stamp]) {
    var contents = Dictionary(uniqueKeysWithValues: epoch.messages.map { ($0.stamp, $0.content) })
    var (added, different): ([Message], [Stamp]) = ([], [])
    for message in batch {
      guard let content = contents[message.stamp] else {
        contents[message.stamp] = message.content
        added.append(message)
        continue
      }
      if content != message.content { different.append(message.stamp) }
    }
    return (added, different)
  }

  // MARK: What is refused

  private static let notFound = Refusal(status: 404, problem: "log_not_found")
  private static let notPermitted = Refusal(status: 403, problem: "not_permitted")
  private static let epochChanged = Refusal(status: 409, problem: "epoch_changed")
  private static let overCap = Refusal(status: 507, problem: "over_cap")

  /// Why the server refuses an account's request about a log now; nil if it carries it out.
  func refusal(
    of act: Act, on id: Identifier, by account: Identifier, at now: Instant
  ) -> Refusal? {
    if case .create = act {
      if logs(of: account).count >= Self.logCountMax {
        return Refusal(status: 409, problem: "too_many_logs")
      }
      if logs[id] != nil { return Refusal(status: 409, problem: "log_exists") }
      return over(account, by: Self.fee) > 0 ? Self.overCap : nil
    }
    if case .accept = act {
      return logs[id]?.shares[account] == nil ? Self.notFound : nil
    }
    if case .endShare(account) = act {
      return logs[id]?.shares[account] == nil ? Self.notFound : nil
    }
    guard let log = logs[id], log.isSeen(by: account) else { return Self.notFound }
    let epoch = log.current
    switch act {
    case .delete, .grant, .endShare, .putSnapshot, .beginEpoch:
      // What takes something from others is the owner's.
      guard log.owner == account else { return Self.notPermitted }
    case .append:
      guard log.takesMessages(of: account) else { return Self.notPermitted }
    default: break
    }
    switch act {
    case .create, .delete, .log, .children, .since, .grant, .accept: return nil
    case .endShare(let other):
      return log.shares[other] == nil ? Refusal(status: 404, problem: "share_not_found") : nil
    case .after(let cursor, _):
      return cursor.map { cursors[$0]?.epoch != epoch.id } ?? false ? Self.epochChanged : nil
    case .snapshot:
      return epoch.snapshot == nil ? Refusal(status: 404, problem: "snapshot_not_found") : nil
    case .append(let known, let batch):
      guard known == epoch.id else { return Self.epochChanged }
      return refusal(ofAppending: batch, to: log, at: now)
    case .putSnapshot(let bytes, let covers, let version):
      guard let cursor = cursors[covers], cursor.epoch == epoch.id else {
        return Self.epochChanged
      }
      guard version == epoch.snapshot?.version ?? 0 else {
        return Refusal(status: 412, problem: "version_changed")
      }
      let byteCount = Int64(bytes.count)
      if cursor.number == epoch.messages.count, byteCount <= epoch.byteCount { return nil }
      let growth = byteCount - epoch.snapshotByteCount
      return growth > 0 && over(account, by: growth) > 0 ? Self.overCap : nil
    case .beginEpoch(let covers):
      guard let cursor = cursors[covers], cursor.epoch == epoch.id else {
        return Self.epochChanged
      }
      guard cursor.number > 0 else { return Refusal(status: 400, problem: "cursor_invalid") }
      guard let snapshot = epoch.snapshot, snapshot.epoch == epoch.id,
        snapshot.covered == cursor.number
      else { return Refusal(status: 409, problem: "snapshot_missing") }
      return nil
    }
  }

  private func refusal(
    ofAppending batch: [Message], to log: Log, at now: Instant
  ) -> Refusal? {
    let latest = (now + Self.aheadMax).milliseconds
    guard batch.allSatisfy({ $0.stamp.milliseconds <= latest }) else {
      return Refusal(status: 422, problem: "timestamp_ahead")
    }
    let (added, _) = Self.sorted(batch, into: log.current)
    if let horizon = log.current.horizon, added.contains(where: { $0.stamp <= horizon }) {
      return Refusal(status: 410, problem: "before_horizon")
    }
    let delta = added.reduce(0) { $0 + $1.charge }
    let over = min(delta, over(log.owner, by: delta))
    guard over > 0, overdraft(log.owner) + over > Self.overdraftMax else { return nil }
    return Self.overCap
  }

  // MARK: What is carried out

  mutating func create(_ id: Identifier, of account: Identifier, epoch: Identifier) {
    logs[id] = Log(owner: account, current: Epoch(id: epoch))
  }

  /// Messages alone may go above the cap, and what they go above it is counted until some fit below it.
  mutating func append(_ batch: [Message], to id: Identifier) -> (added: Int, different: [Stamp]) {
    guard let log = logs[id] else { return (0, []) }
    let (added, different) = Self.sorted(batch, into: log.current)
    let delta = added.reduce(0) { $0 + $1.charge }
    if delta > 0 {
      let over = min(delta, over(log.owner, by: delta))
      overdrafts[log.owner] = over > 0 ? overdraft(log.owner) + over : 0
    }
    logs[id]?.current.messages += added
    return (added.count, different)
  }

  mutating func putSnapshot(
    _ bytes: [UInt8], of id: Identifier, covering covers: String, version: Int64
  ) {
    guard let cursor = cursors[covers] else { return }
    logs[id]?.current.snapshot = Snapshot(
      version: version, bytes: bytes, epoch: cursor.epoch, covered: cursor.number)
  }

  mutating func beginEpoch(
    _ epoch: Identifier, of id: Identifier, covering covers: String, at now: Instant
  ) {
    guard let log = logs[id], let covered = cursors[covers]?.number else { return }
    let gone = log.current.messages.prefix(covered).map(\.stamp)
    let next = Epoch(
      id: epoch, messages: Array(log.current.messages.dropFirst(covered)),
      horizon: (gone + [log.current.horizon].compactMap(\.self)).max(),
      snapshot: log.current.snapshot)
    free(log.current.byteCount - next.byteCount, log.owner)
    logs[id]?.current = next
    keep(log.current, of: id, until: now + Self.keptSpan)
  }

  private mutating func free(_ byteCount: Int64, _ account: Identifier) {
    overdrafts[account] = max(0, overdraft(account) - byteCount)
  }

  /// Keeps an epoch that another took the place of, unless the account would keep more so than its cap.
  private mutating func keep(_ epoch: Epoch, of id: Identifier, until end: Instant) {
    logs[id]?.kept = nil
    guard let owner = logs[id]?.owner else { return }
    let others = logs.values.filter { $0.owner == owner }.reduce(0) {
      $0 + ($1.kept?.epoch.chargedByteCount ?? 0)
    }
    guard others + epoch.chargedByteCount <= caps[owner] ?? 0 else { return }
    logs[id]?.kept = (epoch, end)
  }

  /// Whether an operator can take back the epoch that a log had before; nil if it keeps none.
  func canRestore(_ id: Identifier, at now: Instant) -> Bool? {
    guard let log = logs[id], let kept = log.kept, kept.end > now else { return nil }
    let growth = kept.epoch.chargedByteCount - log.current.chargedByteCount
    return growth <= 0 || over(log.owner, by: growth) == 0
  }

  mutating func restore(_ id: Identifier, at now: Instant) {
    guard let log = logs[id], let kept = log.kept else { return }
    free(max(0, log.current.byteCount - kept.epoch.byteCount), log.owner)
    logs[id]?.current = kept.epoch
    keep(log.current, of: id, until: max(kept.end, now + Self.keptAgainSpanMin))
  }

  mutating func delete(_ id: Identifier) {
    guard let log = logs.removeValue(forKey: id) else { return }
    free(log.current.byteCount, log.owner)
  }

  mutating func grant(_ mode: Mode, of id: Identifier, to account: Identifier) {
    logs[id]?.shares[account, default: Share(mode: mode)].mode = mode
  }

  mutating func accept(_ id: Identifier, by account: Identifier) {
    logs[id]?.shares[account]?.isAccepted = true
  }

  mutating func endShare(of id: Identifier, with account: Identifier) {
    logs[id]?.shares[account] = nil
  }

  /// Background work has come to its end.
  mutating func sweep(at now: Instant) {
    for (id, log) in logs where log.kept.map({ $0.end <= now }) ?? false { logs[id]?.kept = nil }
  }

  /// Notes what a cursor means. Returns false if the same one meant something else.
  mutating func note(_ cursor: String, _ epoch: Identifier, _ number: Int) -> Bool {
    if let known = cursors[cursor] { return known == (epoch, number) }
    cursors[cursor] = (epoch, number)
    return true
  }
}
