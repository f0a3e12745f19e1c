package import Base
package import Storage

/// Counts the content bytes that each owner is charged for, and adds them to the database in batches.
///
/// Sent is the content of a download's response, even if the client does not read it all. Received is content that
/// was accepted, counted once. Counts stay in memory for ten seconds, or until there are a thousand owners; a killed
/// process loses them. A failed flush is repeated, so what the database had committed counts twice. Several instances
/// add to the same rows. For any thread.
package final class TransferCounter: Sendable {
  private static let flushSpan = Instant.Span.seconds(10)
  /// The most owners in one transaction, and the number that makes a flush due.
  private static let batchCountMax = 1000
  /// Beyond this number, which only a long outage of the database reaches, owners are not counted.
  private static let ownerCountMax = 100_000

  private struct Place: Hashable, Comparable {
    let owner: Identifier
    let month: Int64

    static func < (a: Place, b: Place) -> Bool { (a.owner, a.month) < (b.owner, b.month) }
  }

  private struct Bytes {
    var sent: Int64 = 0
    var received: Int64 = 0

    static func += (bytes: inout Bytes, more: Bytes) {
      bytes.sent += more.sent
      bytes.received += more.received
    }
  }

  private struct State {
    var counts: [Place: Bytes] = [:]
    var uncountedByteCount: Int64 = 0
    var flushed = MonotonicTime.now()
  }

  private let database: Database
  private let clock: Clock
  private let state = Locked(State())
  private let period = Locked<Periodic?>(nil)

  package init(_ database: Database, clock: Clock) {
    self.database = database
    self.clock = clock
  }

  package func start() {
    let started = Periodic("transfers", every: 1) { [self] in
      if isDue { try flush() }
    }
    period.withLock { $0 = started }
  }

  /// Flushes the rest. Call it after the last count, while the database is still open.
  package func stop() {
    period.withLock { $0 }?.stop()
    do { try flush() } catch {
      Log.warning("transfers.lost", ["error": String(reflecting: error)])
    }
  }

  package func sent(_ byteCount: Int64, of owner: Identifier) { add(owner, Bytes(sent: byteCount)) }

  package func received(_ byteCount: Int64, of owner: Identifier) {
    add(owner, Bytes(received: byteCount))
  }

  private func add(_ owner: Identifier, _ bytes: Bytes) {
    guard bytes.sent + bytes.received > 0 else { return }
    let place = Place(owner: owner, month: clock.now().month)
    state.withLock { Self.add(&$0, place, bytes) }
  }

  private static func add(_ state: inout State, _ place: Place, _ bytes: Bytes) {
    guard state.counts[place] != nil || state.counts.count < ownerCountMax else {
      state.uncountedByteCount += bytes.sent + bytes.received
      return
    }
    state.counts[place, default: Bytes()] += bytes
  }

  private var isDue: Bool {
    state.withLock { state in
      state.counts.count >= Self.batchCountMax || state.flushed + Self.flushSpan <= .now()
    }
  }

  /// Adds the counts so far to the database. Keeps counts that could not be written, and throws.
  package func flush() throws {
    let (counts, uncounted) = state.withLock { state in
      defer { state = State() }
      return (state.counts, state.uncountedByteCount)
    }
    if uncounted > 0 { Log.warning("transfers.uncounted", ["bytes": "\(uncounted)"]) }
    // Always in the same order, so that two instances never wait for each other.
    var waiting = counts.sorted { $0.key < $1.key }[...]
    while !waiting.isEmpty {
      let batch = Array(waiting.prefix(Self.batchCountMax))
      do {
        try database.write(for: nil) { transaction in
          for (place, bytes) in batch { try Self.write(transaction, place, bytes) }
        }
      } catch {
        let kept = waiting
        state.withLock { state in
          for (place, bytes) in kept { Self.add(&state, place, bytes) }
        }
        throw error
      }
      waiting = waiting.dropFirst(batch.count)
    }
  }

  private static func write(
    _ transaction: Transaction, _ place: Place, _ bytes: Bytes
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.transfers (owner_id, month, sent_bytes, received_bytes)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (owner_id, month) DO UPDATE SET
        sent_bytes = transfers.sent_bytes + excluded.sent_bytes,
        received_bytes = transfers.received_bytes + excluded.received_bytes
      """,
      .id(place.owner), .integer(place.month), .integer(bytes.sent), .integer(bytes.received))
  }
}
