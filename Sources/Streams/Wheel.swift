package import Base

/// Spreads the heartbeats of all streams evenly over their interval.
package struct Wheel {
  private static let slotCountMax = 100

  private var slots: [Set<Int32>]
  private var places: [Int32: Int] = [:]
  private let tick: Instant.Span
  private var next = 0
  private var addedCount = 0
  private var due: MonotonicTime

  package init(_ interval: Instant.Span, now: MonotonicTime = .now()) {
    let count = Int(min(Int64(Self.slotCountMax), max(1, interval.milliseconds / 10)))
    slots = Array(repeating: [], count: count)
    tick = .milliseconds(max(1, interval.milliseconds / Int64(count)))
    due = now + tick
  }

  /// The first heartbeat comes after half an interval to a whole one. Streams that begin together, as after a restart,
  /// have theirs one after the other.
  package mutating func add(_ socket: Int32) {
    let slot = (next + slots.count - 1 - addedCount % ((slots.count + 1) / 2)) % slots.count
    addedCount += 1
    slots[slot].insert(socket)
    places[socket] = slot
  }

  package mutating func remove(_ socket: Int32) {
    if let slot = places.removeValue(forKey: socket) { slots[slot].remove(socket) }
  }

  /// How long to wait for the next slot.
  package func milliseconds(at now: MonotonicTime) -> Int32 {
    guard now < due else { return 0 }
    return Int32(clamping: (due.nanoseconds - now.nanoseconds) / 1_000_000 + 1)
  }

  /// The sockets whose turn has come. After a pause, at most one turn of each.
  package mutating func take(at now: MonotonicTime) -> [Int32] {
    var sockets: [Int32] = []
    var count = 0
    while due <= now, count < slots.count {
      sockets += slots[next]
      next = (next + 1) % slots.count
      due = due + tick
      count += 1
    }
    if due <= now { due = now + tick }
    return sockets
  }
}
