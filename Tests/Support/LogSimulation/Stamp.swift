import Base
import Logs

/// A timestamp of a hybrid logical clock. Its order is that of its text.
struct Stamp: Hashable, Comparable {
  let milliseconds: Int64
  let counter: Int64
  let text: String

  init(milliseconds: Int64, counter: Int64, node: String) {
    let hexadecimal = String(counter, radix: 16, uppercase: true)
    // The seconds of an instant are written without a fraction.
    let seconds = "\(Instant(seconds: milliseconds / 1000))".dropLast()
    self.milliseconds = milliseconds
    self.counter = counter
    text =
      "\(seconds).\(String(1000 + milliseconds % 1000).dropFirst())Z-"
      + "\(String(repeating: "0", count: 4 - hexadecimal.count))\(hexadecimal)-\(node)"
  }

  init?(_ text: String) {
    guard let timestamp = LogTimestamp(text),
      let counter = Int64(text.dropFirst(25).prefix(4), radix: 16)
    else { return nil }
    (milliseconds, self.counter, self.text) = (timestamp.instant.milliseconds, counter, text)
  }

  /// Before every message of a minute.
  init(startOf minute: Int64) {
    self.init(
      milliseconds: minute * 60_000, counter: 0, node: String(repeating: "0", count: 16))
  }

  static func < (a: Stamp, b: Stamp) -> Bool { a.text < b.text }
}

/// A message: the first bytes of its content are the number of an edit.
struct Message: Hashable {
  let stamp: Stamp
  let content: [UInt8]

  init(_ stamp: Stamp, _ content: [UInt8]) { (self.stamp, self.content) = (stamp, content) }

  static let editByteCount = 8

  var edit: UInt64 { Self.edit(content) }
  var charge: Int64 { Int64(content.count) + 64 }

  static func edit(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.prefix(editByteCount).reduce(0) { $0 << 8 | UInt64($1) }
  }

  static func bytes(of edit: UInt64) -> [UInt8] {
    (0..<editByteCount).map { UInt8(truncatingIfNeeded: edit >> (56 - 8 * UInt64($0))) }
  }
}

/// The clock of a device, which never goes back, and refuses what is far ahead of it.
struct HybridClock {
  let node: String
  /// How far the device's clock is ahead of the server's.
  private(set) var offset: Instant.Span
  private var last: (milliseconds: Int64, counter: Int64) = (0, 0)

  static let driftMilliseconds: Int64 = 300_000
  private static let counterMax: Int64 = 0xFFFF

  init(node: String, offset: Instant.Span) { (self.node, self.offset) = (node, offset) }

  private func time(_ now: Instant) -> Int64 { (now + offset).milliseconds }

  /// Nil if the last timestamp is too far ahead of the device's time.
  mutating func stamp(at now: Instant) -> Stamp? {
    let time = time(now)
    let next = max(last.milliseconds, time)
    let counter = next == last.milliseconds ? last.counter + 1 : 0
    guard next - time <= Self.driftMilliseconds, counter <= Self.counterMax else { return nil }
    last = (next, counter)
    return Stamp(milliseconds: next, counter: counter, node: node)
  }

  /// Takes in another device's timestamp. Returns false if it is too far ahead.
  mutating func receive(_ stamp: Stamp, at now: Instant) -> Bool {
    let time = time(now)
    let next = max(last.milliseconds, time, stamp.milliseconds)
    guard next - time <= Self.driftMilliseconds else { return false }
    var counter: Int64 = 0
    if next == last.milliseconds { counter = last.counter + 1 }
    if next == stamp.milliseconds { counter = max(counter, stamp.counter + 1) }
    last = (next, counter)
    return true
  }

  /// A person sets the device's clock. What it stamped before, and nobody took, counts no more.
  mutating func set(_ offset: Instant.Span, after known: Stamp?) {
    self.offset = offset
    last = known.map { ($0.milliseconds, $0.counter) } ?? (0, 0)
  }
}
