package import Base
package import Storage

/// The durable queue of objects to read from their providers, one job for each kind and object.
///
/// A read takes its number before it begins, so a request that arrives meanwhile asks for a later read. No
/// request is ever lost: it ends with a committed read, or waits in a dead job for the operator. All steps are
/// re-runnable: they act only through the transaction.
package enum Jobs {
  /// Requests a read that begins from now on.
  ///
  /// `payload`, if given, replaces the job's; the caller seals and bounds it. `settleAfter` is the end of the
  /// event's as-of, by the provider's clock. An earlier read does not settle it, nor does one that cannot say
  /// when it began. After the settling read, `confirmations` more follow, a minute apart. A dead job revives.
  ///
  /// `lane` is 0 unless only a client says that there is something to read. `trace` is that of the request, if
  /// someone waits for the read. `isShallow`: what belongs to the object was compared just now. It is left out
  /// unless someone requests a whole read meanwhile.
  package static func request(
    _ kind: String, _ object: String, payload: [UInt8]? = nil, due: Instant,
    settleAfter: Instant? = nil, confirmations: Int = 0, lane: Int = 0,
    trace: TraceContext? = nil, isShallow: Bool = false, in transaction: Transaction
  ) throws {
    try step(kind, object, in: transaction) { state in
      state.request(
        payload: payload, due: due, settleAfter: settleAfter,
        confirmations: Int64(confirmations), lane: Int64(lane), trace: trace,
        isShallow: isShallow)
    }
  }

  /// Skips the read numbers up to `number`, because another Coffer has issued them.
  package static func pass(
    _ kind: String, _ object: String, through number: Int64, in transaction: Transaction
  ) throws {
    try step(kind, object, in: transaction) { $0.pass(through: number) }
  }

  /// Takes a step of a job, which is made if there is none.
  private static func step(
    _ kind: String, _ object: String, in transaction: Transaction,
    _ change: (inout JobState) -> Void
  ) throws {
    var known = try JobRow.locked(kind, object, in: transaction)
    if known == nil {
      var new = JobRow(kind: kind, object: object, state: JobState())
      change(&new.state)
      if try new.insert(in: transaction) { return }
      // On PostgreSQL another transaction may have made it between the two statements.
      known = try JobRow.locked(kind, object, in: transaction)
    }
    guard var row = known else { return }
    change(&row.state)
    try row.store(in: transaction)
  }

  /// Begins reads of jobs of one kind: the lower lanes first, then those that have been due
  /// longest. Run them once this is committed.
  ///
  /// A job that another reader holds is left alone until that lease runs out.
  package static func lease(
    _ kind: String, lanes: ClosedRange<Int64> = 0...Int64.max, limit: Int, now: Instant,
    in transaction: Transaction
  ) throws -> [Lease] {
    let objects = try due(kind, lanes: lanes, limit: limit, now: now, reading: transaction)
      .map(\.object)
    var leases: [Lease] = []
    // In a fixed order, so that two runners never wait for each other.
    for object in objects.sorted() {
      // On PostgreSQL another runner may have taken it between the two statements.
      guard var row = try JobRow.locked(kind, object, in: transaction),
        row.state.canLease(at: now)
      else { continue }
      let isRepeated = row.state.leaseUntil != nil
      row.state.lease(at: now)
      try row.store(in: transaction)
      leases.append(Lease(row, isRepeated: isRepeated))
    }
    return leases
  }

  /// When the job that `lease` would take first was due; nil if none can be leased.
  package static func earliestDue(
    _ kind: String, lanes: ClosedRange<Int64>, now: Instant, reading reader: some Queryable
  ) throws -> Instant? {
    try due(kind, lanes: lanes, limit: 1, now: now, reading: reader).first?.due
  }

  /// The jobs that can be leased, in the order of `lease`.
  ///
  /// They are queried lane by lane. For several lanes at once, an index would also go through
  /// everything that is due later, which is a job for each subscription.
  private static func due(
    _ kind: String, lanes: ClosedRange<Int64>, limit: Int, now: Instant,
    reading database: some Queryable
  ) throws -> [(object: String, due: Instant)] {
    var found: [(object: String, due: Instant)] = []
    var lane = lanes.lowerBound
    while found.count < limit {
      if lane < lanes.upperBound {
        let next = try database.first(
          """
          SELECT lane FROM billing.jobs
          WHERE kind = $1 AND lane >= $2 AND lane <= $3 AND due_ms IS NOT NULL
          ORDER BY lane LIMIT 1
          """, .text(kind), .integer(lane), .integer(lanes.upperBound)
        ) { try $0.integer(0) }
        guard let next else { return found }
        lane = next
      }
      found += try database.rows(
        """
        SELECT object, due_ms FROM billing.jobs
        WHERE kind = $1 AND lane = $2 AND due_ms <= $3
          AND (lease_until_ms IS NULL OR lease_until_ms <= $3)
        ORDER BY due_ms, object LIMIT $4
        """, .text(kind), .integer(lane), .instant(now), .integer(limit - found.count)
      ) { (object: try $0.text(0), due: try $0.instant(1)) }
      guard lane < lanes.upperBound else { return found }
      lane += 1
    }
    return found
  }
}
