import Accounts
import Base
import Crypto

/// How far a client has read its own sequence and those of the trees it sees, as opaque text.
///
/// A view's number changes whenever the view must be read from its beginning. The history identifies the database: a
/// restored backup gives the same numbers again, so its clients start over.
///
/// The text ends with a code under the database's key. Otherwise a cursor set back by hand would make the server read
/// many rows for an empty answer.
struct Cursor: Sendable, Equatable {
  let history: Identifier
  let account: Identifier
  /// When the client had last read everything. It already knows earlier deletions.
  var caughtUp: Instant
  /// The number up to which the account's own sequence has been read.
  var sequence: Int64
  /// By number of the view: how far its owner's sequence has been read.
  var views: [Int64: Int64]

  private static let format: UInt8 = 3
  /// HMAC-SHA-256 cut to 128 bits (RFC 2104, section 5).
  private static let codeByteCount = 16

  init(history: Identifier, account: Identifier, caughtUp: Instant) {
    self.history = history
    self.account = account
    self.caughtUp = caughtUp
    sequence = 0
    views = [:]
  }

  /// Refuses text that this database never wrote. A cursor of an earlier version or another history starts over.
  init(_ text: String, of current: History) throws(Refusal) {
    guard let bytes = Base64.url.decode(text), let format = bytes.first else {
      throw .cursorInvalid
    }
    guard format == Self.format else {
      throw 1..<Self.format ~= format ? .cursorExpired : .cursorInvalid
    }
    let code = Array(bytes.suffix(Self.codeByteCount))
    let coded = bytes.dropLast(Self.codeByteCount)
    var rest = coded.dropFirst()
    guard let history = Self.identifier(&rest) else { throw .cursorInvalid }
    // A restored database has another key as well, so the code of such a cursor cannot be checked.
    guard history == current.id else { throw .historyChanged }
    guard constantTimeEqual(code, Self.code(Array(coded), current.cursorKey)) else {
      throw .cursorInvalid
    }
    guard let account = Self.identifier(&rest), let caughtUp = Self.number(&rest),
      let sequence = Self.sequence(&rest)
    else { throw .cursorInvalid }
    self.init(history: history, account: account, caughtUp: Instant(milliseconds: caughtUp))
    self.sequence = sequence
    while !rest.isEmpty {
      guard let number = Self.number(&rest), let sequence = Self.sequence(&rest),
        views.count < BatchRules.viewCountMax
      else { throw .cursorInvalid }
      views[number] = sequence
    }
  }

  private static func code(_ bytes: [UInt8], _ key: Secret) -> [UInt8] {
    Array(HMACSHA256.code(key: key, bytes).prefix(codeByteCount))
  }

  func text(key: Secret) -> String {
    var bytes = [Self.format] + history.bytes + account.bytes
    Self.append(caughtUp.milliseconds, &bytes)
    Self.appendSequence(sequence, &bytes)
    for (number, sequence) in views.sorted(by: { $0.key < $1.key }) {
      Self.append(number, &bytes)
      Self.appendSequence(sequence, &bytes)
    }
    return Base64.url.encode(bytes + Self.code(bytes, key))
  }

  // MARK: Bytes

  private static func identifier(_ bytes: inout ArraySlice<UInt8>) -> Identifier? {
    guard bytes.count >= 16 else { return nil }
    defer { bytes = bytes.dropFirst(16) }
    return Identifier(bytes: bytes.prefix(16))
  }

  /// Eight bytes, the highest first.
  private static func number(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    guard bytes.count >= 8 else { return nil }
    defer { bytes = bytes.dropFirst(8) }
    return bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
  }

  private static func append(_ number: Int64, _ bytes: inout [UInt8]) {
    bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
  }

  /// Seven bits a byte, the lowest first; all but the last have the high bit.
  private static func sequence(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    var sequence: Int64 = 0
    for shift in stride(from: Int64(0), to: 63, by: 7) {
      guard let byte = bytes.popFirst() else { return nil }
      sequence |= Int64(byte & 0x7f) << shift
      if byte < 0x80 { return sequence }
    }
    return nil
  }

  private static func appendSequence(_ sequence: Int64, _ bytes: inout [UInt8]) {
    var rest = sequence
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }
}
