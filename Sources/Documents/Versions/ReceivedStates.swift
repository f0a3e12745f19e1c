import Base

/// The documents of a batch in another account that it names, and what versions of the sender's device do to them.
///
/// There a version replaces that of the same device, and nothing else: only the receiver's own devices merge what the
/// receiver has. A removal replaces all versions of the sender's account. What the receiver deleted stays deleted.
struct ReceivedStates: Sendable {
  private(set) var current: [Identifier: [CurrentVersion]]
  /// The highest counter of the device's versions in that account; 0 if there is none.
  private var highest: Int64
  /// Whether some device of the sender's has written there before.
  private let hasWritten: Bool
  private let author: [UInt8]
  private let sender: Identifier

  /// The most current versions of one other account that an account holds. Each is charged to it as a record.
  static let countOfOneMax: Int64 = 10_000
  /// Those of them that are of one document.
  static let currentCountOfOneMax = 16

  init(
    _ current: [Identifier: [CurrentVersion]], author: [UInt8], of sender: Identifier,
    highest: Int64, hasWritten: Bool
  ) {
    self.hasWritten = hasWritten
    self.current = current
    self.author = author
    self.sender = sender
    self.highest = highest
  }

  /// Applies a version of the device. Returns what it replaces; nil if nothing is stored.
  mutating func apply(_ version: DocumentVersion) throws(VersionRule) -> [CurrentVersion]? {
    let before = current[version.document] ?? []
    let sent = before.filter { $0.writer == sender }
    // The receiver's own version may have merged what was sent.
    let isMerged =
      hasWritten && sent.isEmpty && before.contains { $0.writer == nil }
      && before.count < DocumentStates.currentCountMax
    guard !before.contains(where: \.isDeletion),
      !version.isRemoval || isMerged || sent.contains(where: { !$0.isEmpty })
    else { return nil }
    guard version.counter > highest else { throw .counterUsed }
    let removals = sent.filter { $0.isEmpty && $0.author != author }
    guard version.isRemoval || removals.allSatisfy({ $0.counter <= version.clock[$0.author] })
    else { throw .removalUncovered }
    let replaced =
      version.isRemoval ? sent : sent.filter { $0.author == author } + removals
    let left = before.filter { !replaced.contains($0) }
    guard left.count < DocumentStates.currentCountMax,
      left.count(where: { $0.writer == sender }) < Self.currentCountOfOneMax
    else { throw .tooManyVersions }
    highest = version.counter
    current[version.document] =
      left + [
        CurrentVersion(
          author: author, counter: version.counter, isEmpty: version.isDeletion, byteCount: 0,
          writer: sender)
      ]
    return replaced
  }
}
