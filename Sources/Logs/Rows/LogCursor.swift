import Base

/// How far a client has read an epoch in the order of arrival, as opaque text.
///
/// It names the history that the numbers belong to: a database that was restored from a backup gives them again. It
/// carries no code, because no value of it costs the server more than a page.
struct LogCursor: Sendable, Equatable {
  let history: Identifier
  let epoch: Identifier
  let number: Int64

  private static let byteCount = 40
}

extension LogCursor {
  init(_ text: String) throws(LogRefusal) {
    guard let bytes = Base64.url.decode(Array(text.utf8)), bytes.count == Self.byteCount,
      let history = Identifier(bytes: bytes[..<16]), let epoch = Identifier(bytes: bytes[16..<32]),
      bytes[32] < 0x80
    else { throw .cursorInvalid }
    self.init(
      history: history, epoch: epoch, number: bytes[32...].reduce(0) { $0 << 8 | Int64($1) })
  }

  var text: String {
    Base64.url.encode(
      history.bytes + epoch.bytes
        + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) })
  }
}
