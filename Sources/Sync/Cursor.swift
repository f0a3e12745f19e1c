internal import Base

/// How far a client has seen the tree of each owner, as an opaque text.
///
/// It carries the history it counts in, so that after a restore from backup, whose sequences run
/// again over the same numbers, a client starts over instead of skipping what it never saw.
struct Cursor: Sendable, Equatable {
  let history: Identifier
  let owner: Identifier
  /// Every change of the owner up to this sequence number has been seen.
  let sequence: Int64

  private static let format: UInt8 = 1

  init(history: Identifier, owner: Identifier, sequence: Int64) {
    self.history = history
    self.owner = owner
    self.sequence = sequence
  }

  init?(_ text: String) {
    guard let bytes = Base64.url.decode(text), bytes.count == 41, bytes[0] == Self.format,
      let history = Identifier(bytes: bytes[1..<17]),
      let owner = Identifier(bytes: bytes[17..<33])
    else { return nil }
    let sequence = bytes[33...].reduce(0) { $0 << 8 | UInt64($1) }
    guard let sequence = Int64(exactly: sequence) else { return nil }
    self.init(history: history, owner: owner, sequence: sequence)
  }

  var text: String {
    let number = (0..<8).map { UInt8(truncatingIfNeeded: sequence >> (56 - 8 * Int64($0))) }
    return Base64.url.encode([Self.format] + history.bytes + owner.bytes + number)
  }
}
