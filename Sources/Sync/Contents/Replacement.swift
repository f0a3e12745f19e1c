import Accounts
import Base
import Requests
import Storage
import Tiers

/// What one write of content does to the owner's usage and versions.
struct Replacement {
  /// Whether the replaced content becomes a version.
  private let keeps: Bool
  /// The versions that are more than the plan keeps of one document.
  private let surplus: [KeptVersion]
  /// The change of the owner's usage, and of the part of it that is in versions.
  private let delta: Int64
  private let historyDelta: Int64
  private let span: Instant.Span

  /// Refuses new content that is too large for the owner's plan, or has no room. Content that does not grow always
  /// has room: if the replaced content does not fit beside it, in the account or in a capped folder above, it is not
  /// kept. `reserved` is the room promised to uploads under way.
  init(
    of file: FileRecord, by byteCount: Int64, for owner: LockedOwner, reserved: Int64 = 0,
    askedBy caller: Identifier, _ queryable: some Queryable, catalogue: Catalogue, now: Instant
  ) throws {
    let growth = byteCount - file.contentByteCount
    let limits =
      catalogue.limitsMore
      ? try Cap(queryable, owner.account, catalogue: catalogue, now: now).limits(catalogue)
      : Plan.Limits()
    try owner.requireSize(byteCount, insteadOf: file.contentByteCount, limits)
    var caps = try FolderCap.above(file.id, of: owner, queryable)
    if reserved > 0, !caps.isEmpty {
      let promised = try FolderCap.promised(to: owner.account, queryable, now: now)
      for index in caps.indices { caps[index].promise(promised[caps[index].folder] ?? 0) }
    }
    var surplus: [KeptVersion] = []
    if file.hasContent, let span = limits.historySpan {
      if let countMax = limits.historyVersionCount {
        surplus = try Self.surplus(
          beyond: countMax, of: file, queryable, catalogue: catalogue, now: now)
      }
      let delta = byteCount - surplus.byteCount
      let over = try owner.lack(
        of: delta, growingBy: growth, reserved: reserved, askedBy: caller, queryable,
        catalogue: catalogue, now: now)
      if let over, growth > 0 { throw over }
      if try over == nil && caps.allSatisfy({ try $0.fits(delta) }) {
        (keeps, self.surplus, self.delta, self.span) = (true, surplus, delta, span)
        historyDelta = file.contentByteCount - surplus.byteCount
        return
      }
    }
    try owner.requireRoom(
      for: growth, reserved: reserved, askedBy: caller, queryable, catalogue: catalogue, now: now)
    for cap in caps { try cap.require(growth, of: owner.account, askedBy: caller, queryable) }
    (keeps, self.surplus, delta, historyDelta, span) = (false, [], growth, 0, .seconds(0))
  }

  /// The versions beyond `countMax` once the content is one, except older ones that a former plan still keeps.
  private static func surplus(
    beyond countMax: Int64, of file: FileRecord, _ queryable: some Queryable,
    catalogue: Catalogue, now: Instant
  ) throws -> [KeptVersion] {
    let versions = try Versions.newest(
      queryable, of: file.id, without: countMax - 1, limit: Versions.surplusCountMax)
    guard !versions.isEmpty else { return [] }
    let retention = try Retention(queryable, file.owner, catalogue: catalogue, now: now)
    return versions.enumerated().filter { index, version in
      let max = retention.versionCountMax(replaced: version.replaced, at: now) ?? .max
      return countMax + Int64(index) >= max
    }.map(\.element)
  }

  /// Moves the replaced content out of the way, and charges the owner. Version `number` takes its place.
  func perform(
    _ transaction: Transaction, _ file: FileRecord, for owner: inout LockedOwner, number: Int64,
    now: Instant
  ) throws {
    if keeps {
      try Versions.keep(transaction, file.id, until: number, now: now)
      owner.lookForKept(at: now + min(span, Versions.pauseMax))
    } else if let object = file.objectID {
      try Garbage.add(
        transaction, object, of: file.owner, byteCount: file.contentByteCount, since: now,
        was: (file.id, file.contentVersion))
    } else if file.hasContent {
      try FormerContents.keep(
        transaction, (file.id, file.contentVersion), of: file.owner, from: .document, now: now)
    }
    try Versions.drop(transaction, surplus, of: file.owner, now: now)
    owner.charge(
      delta, history: historyDelta, reason: .contentChanged, file: file.id, sequence: number)
    try FolderCap.post(delta, above: file.id, of: owner, transaction)
  }
}
