import Base

/// A current version, as far as a later one must know it.
struct CurrentVersion: Hashable, Sendable {
  let author: [UInt8]
  let counter: Int64
  /// Whether it has no body. Of the account's own devices it deletes the document then.
  let isEmpty: Bool
  /// Its charge besides the fee of a record and its text.
  let byteCount: Int64
  /// The number of the account's sequence under which it was stored; 0 if it is not yet.
  var number: Int64 = 0
  /// The account whose device wrote it; nil for the one that holds it.
  var writer: Identifier?
  /// The text that it refers to.
  var text: Identifier?

  /// Whether the document is deleted, for good. No other account can do that.
  var isDeletion: Bool { isEmpty && writer == nil }
}

/// The documents of a batch, and what versions of one device do to them.
///
/// A version replaces exactly what its clock covers, device by device. So versions that do not know of each other
/// stay side by side. A deletion replaces all that is there, and nothing replaces a deletion: what a device writes
/// without knowing of it, or in spite of it, is never current.
struct DocumentStates: Sendable {
  private(set) var current: [Identifier: [CurrentVersion]]
  /// The highest counter of the device; 0 if there is no version of it.
  private(set) var highest: Int64
  private let author: [UInt8]

  /// The most current versions of a document. Each device has one, so they are seldom more than a few.
  static let currentCountMax = 32

  init(
    _ current: [Identifier: [CurrentVersion]], author: [UInt8], highest: Int64
  ) {
    self.current = current
    self.author = author
    self.highest = highest
  }

  struct Effect: Sendable {
    let replaced: [CurrentVersion]
    /// False if its document was deleted before, or it removes accounts from it.
    let isCurrent: Bool
  }

  mutating func apply(
    _ version: DocumentVersion
  ) throws(VersionRule) -> Effect {
    guard version.author == author else { throw .authorDiffers }
    guard version.counter > highest else { throw .counterUsed }
    if version.isRemoval {
      highest = version.counter
      return Effect(replaced: [], isCurrent: false)
    }
    let before = current[version.document] ?? []
    if before.contains(where: \.isDeletion) {
      highest = version.counter
      return Effect(replaced: [], isCurrent: false)
    }
    let kept = before.filter { $0.counter > version.clock[$0.author] }
    guard !kept.contains(where: { $0.author == author }) else { throw .ownVersionUncovered }
    let left = version.isDeletion ? [] : kept
    guard left.count < Self.currentCountMax else { throw .tooManyVersions }
    highest = version.counter
    current[version.document] =
      left + [
        CurrentVersion(
          author: author, counter: version.counter, isEmpty: version.isDeletion,
          byteCount: version.chargedByteCount)
      ]
    return Effect(replaced: before.filter { !left.contains($0) }, isCurrent: true)
  }
}
