import Base

/// How much may wait, and for how long.
enum MailboxBounds {
  /// The most devices that one message goes to.
  static let receiverCountMax = 256
  /// The most that waits in the mailbox of a device. Tellings of expired messages may add to it.
  static let ofDevice = Load(count: 4000, byteCount: 64 << 20)
  /// The most of it that is of one account.
  static let ofSender = Load(count: 1000, byteCount: 16 << 20)
  /// What a message is charged with besides its body, and once more for each receiver. In a mailbox it counts once.
  static let overheadByteCount: Int64 = 128
  /// For how long a message's row stays after its last acknowledgement, so that its sender can repeat it.
  static let repeatSpan = Instant.Span.hours(1)
}

/// Messages or key packages, and their bytes.
struct Load: Equatable, Sendable {
  var count: Int64 = 0
  var byteCount: Int64 = 0

  /// Whether there is room below a bound for one more.
  func hasRoom(for byteCount: Int64, below bound: Load) -> Bool {
    count < bound.count && self.byteCount + byteCount <= bound.byteCount
  }

  static func += (sum: inout Load, other: Load) {
    sum.count += other.count
    sum.byteCount += other.byteCount
  }

  static prefix func - (load: Load) -> Load {
    Load(count: -load.count, byteCount: -load.byteCount)
  }
}
