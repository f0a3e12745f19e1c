package import Base
package import Crypto
import Ledger
package import Storage
import Subscriptions

/// Seals with the first key what older keys have sealed, so that these can be removed after a rotation.
/// It works in slices while others write; after an interruption, the next run finds the rest.
package struct Resealing: Sendable {
  /// The number of values that were sealed again.
  package private(set) var count: Int64 = 0
  /// The number of values that no key opens; they stay as they are.
  package private(set) var unopenedCount: Int64 = 0
  private let sealing: SealingKeys
  private let database: Database

  /// How many numbers one transaction covers, and after how many sealed bytes it ends early.
  private static let sliceCount: Int64 = 500
  private static let sliceByteCount = 4 << 20

  package init(_ database: Database, _ sealing: SealingKeys) {
    self.database = database
    self.sealing = sealing
  }

  /// Evidence that a server may still seal with a key other than the first.
  package enum Obstacle: Sendable {
    /// The newest delivery, received at this time, was sealed with another key.
    case newestDelivery(Instant)
    /// A recent delivery was sealed with another key, although a newer one was sealed with the first.
    case recentDelivery(Instant)
  }

  /// A server that was not restarted usually seals something within this time.
  package static let restartSpan = Instant.Span.minutes(10)

  /// Returns the obstacle, if any. Call it before resealing, which removes the evidence.
  package static func obstacle(
    to sealing: SealingKeys, at now: Instant, reading database: some Queryable
  ) throws -> Obstacle? {
    guard let newest = try KeptDelivery.sealed(by: sealing, reading: database) else { return nil }
    guard newest.keyIndex == 0 else { return .newestDelivery(newest.received) }
    var number = newest.number
    while number > 0 {
      let page = try database.rows(
        """
        SELECT id, received_ms, substr(sealed, 1, \(SealingKeys.prefixByteCount))
        FROM billing.deliveries WHERE id <= $1 AND length(sealed) > 0 ORDER BY id DESC LIMIT $2
        """, .integer(number), .integer(sliceCount)
      ) { row in (try row.integer(0), try row.instant(1), try row.blob(2)) }
      for (_, received, prefix) in page {
        if received < now - restartSpan { return nil }
        if prefix != sealing.newestHeader { return .recentDelivery(received) }
      }
      number = (page.last?.0 ?? 0) - 1
    }
    return nil
  }

  /// The highest delivery number, which is how many numbers `run` looks through.
  package static func total(reading database: some Queryable) throws -> Int64 {
    try database.first("SELECT id FROM billing.deliveries ORDER BY id DESC LIMIT 1") {
      try $0.integer(0)
    } ?? 0
  }

  /// Reseals deliveries, then the payloads of jobs. `told` receives the number reached so far.
  package mutating func run(told: (Int64) -> Void) throws {
    let end = try database.read { try Self.total(reading: $0) }
    var reached: Int64 = 0
    while reached < end {
      let (begin, sealing) = (reached, sealing)
      let slice = try database.write(for: nil) { transaction in
        try Self.resealDeliveries(after: begin, sealing, in: transaction)
      }
      add(slice)
      reached = slice.reached
      told(min(reached, end))
    }
    var place: (kind: String, object: String)? = ("", "")
    while let after = place {
      let sealing = sealing
      let (slice, next) = try database.write(for: nil) { transaction in
        try Self.resealJobs(after: after, sealing, in: transaction)
      }
      add(slice)
      place = next
    }
  }

  private struct Slice: Sendable {
    var count: Int64 = 0
    var unopenedCount: Int64 = 0
    var reached: Int64 = 0
  }

  private mutating func add(_ slice: Slice) {
    count += slice.count
    unopenedCount += slice.unopenedCount
  }

  private static func resealDeliveries(
    after begin: Int64, _ sealing: SealingKeys, in transaction: Transaction
  ) throws -> Slice {
    var slice = Slice(reached: begin + sliceCount)
    var found: [(id: Int64, provider: String, deliveryID: String, sealed: [UInt8])] = []
    var byteCount = 0
    try transaction.query(
      """
      SELECT id, provider, delivery_id, sealed FROM billing.deliveries
      WHERE id > $1 AND id <= $2 AND length(sealed) > 0 AND substr(sealed, 1, 5) <> $3
      ORDER BY id
      """, [.integer(begin), .integer(begin + sliceCount), .blob(sealing.newestHeader)]
    ) { row in
      found.append((try row.integer(0), try row.text(1), try row.text(2), try row.blob(3)))
      byteCount += found.last?.sealed.count ?? 0
      if byteCount < sliceByteCount { return true }
      slice.reached = try row.integer(0)
      return false
    }
    for delivery in found {
      guard let provider = ObjectKey.Provider(rawValue: delivery.provider),
        let sealed = opened({
          try KeptDelivery.resealed(
            delivery.sealed, of: provider, deliveryID: delivery.deliveryID, sealing)
        })
      else {
        slice.unopenedCount += 1
        continue
      }
      // Nothing is updated if an erasure has taken the body in the meantime.
      slice.count += Int64(
        try transaction.execute(
          "UPDATE billing.deliveries SET sealed = $2 WHERE id = $1 AND sealed = $3",
          .integer(delivery.id), .blob(sealed), .blob(delivery.sealed)))
    }
    return slice
  }

  private static func resealJobs(
    after place: (kind: String, object: String), _ sealing: SealingKeys,
    in transaction: Transaction
  ) throws -> (Slice, (kind: String, object: String)?) {
    var slice = Slice()
    let rows = try transaction.rows(
      """
      SELECT kind, object, payload FROM billing.jobs
      WHERE kind > $1 OR (kind = $1 AND object > $2) ORDER BY kind, object LIMIT $3
      """, .text(place.kind), .text(place.object), .integer(sliceCount)
    ) { row in ((kind: try row.text(0), object: try row.text(1)), try row.optionalBlob(2)) }
    for case (let job, let payload?) in rows
    where !payload.starts(with: sealing.newestHeader) {
      let key = ObjectKey(job.object)
      guard let key,
        let sealed = opened({
          let context = PreparedDelivery.payloadContext(key)
          return sealing.seal(try sealing.open(payload, context: context), context: context)
        })
      else {
        slice.unopenedCount += 1
        continue
      }
      // Nothing is updated if a request has replaced the payload in the meantime.
      slice.count += Int64(
        try transaction.execute(
          "UPDATE billing.jobs SET payload = $3 WHERE kind = $1 AND object = $2 AND payload = $4",
          .text(job.kind), .text(job.object), .blob(sealed), .blob(payload)))
    }
    return (slice, rows.count < sliceCount ? nil : rows.last?.0)
  }

  /// Nil if no key opens it.
  private static func opened(_ body: () throws -> [UInt8]) -> [UInt8]? {
    do { return try body() } catch { return nil }
  }
}
