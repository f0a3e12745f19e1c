import Base

/// The row of one job and the steps that it can take. Each step is a pure function of the row.
struct JobState: Equatable {
  var payload: [UInt8]?
  /// The read of this number, or a later one, settles the job.
  var requested: Int64 = 0
  var issued: Int64 = 0
  var committed: Int64 = 0
  /// A read that began earlier, by the provider's clock, does not settle the job.
  var settleAfter: Instant?
  /// Further reads after the one that settles.
  var confirmations: Int64 = 0
  /// Set exactly while the job is open. While it is leased: when the requests that are being read were due.
  var due: Instant?
  /// While it is leased: when the requests since then are due.
  var nextDue: Instant?
  /// When the oldest request that no read has settled was first due, even if it was put off since.
  var unsettledSince: Instant?
  /// The provider wants no request before this time.
  var heldUntil: Instant?
  var leaseUntil: Instant?
  var attempts: Int64 = 0
  var refusals: Int64 = 0
  /// When the failures began that no stored answer has ended.
  var failingSince: Instant?
  /// 0 unless only clients report the object; then its place among such objects.
  var lane: Int64 = 0
  var isDead = false
  var lastError: String?
  /// The trace of the first request that is not settled.
  var trace: TraceContext?
  /// Whether all requests accept less than a whole read.
  var isShallow = false

  /// Requests a read later than every one that has begun.
  mutating func request(
    payload: [UInt8]?, due wanted: Instant, settleAfter end: Instant?, confirmations count: Int64,
    lane wantedLane: Int64, trace asking: TraceContext? = nil, isShallow wantsLess: Bool = false
  ) {
    let isIdle = due == nil && !isDead
    isShallow = wantsLess && (isIdle || isShallow)
    trace = isIdle ? asking : trace ?? asking
    lane = isIdle ? wantedLane : min(lane, wantedLane)
    if isDead { (isDead, attempts, refusals) = (false, 0, 0) }
    self.payload = payload ?? self.payload
    requested = max(requested, issued + 1)
    if let end { settleAfter = max(settleAfter ?? end, end) }
    confirmations = max(confirmations, count)
    wait(until: wanted)
  }

  /// Counts the reads up to `number` as committed. What was requested must still be read.
  mutating func pass(through number: Int64) {
    guard number > issued else { return }
    let isSettled = requested <= committed
    (issued, committed) = (number, number)
    requested = isSettled ? number : number + 1
    leaseUntil = nil
  }

  func canLease(at now: Instant) -> Bool {
    guard let due, due <= now else { return false }
    return leaseUntil.map { $0 <= now } ?? true
  }

  /// Begins a read. Its number is used up, whatever its result.
  mutating func lease(at now: Instant) {
    if leaseUntil != nil {
      attempts += 1
      failingSince = failingSince ?? now
      lastError = "the reader did not come back in time"
    }
    issued += 1
    nextDue = nil
    leaseUntil = now + JobRules.leaseTime
  }

  /// Ends a read whose facts are stored. If its lease has run out, it leaves its successor's lease alone.
  mutating func commit(readNumber: Int64, readBegan: Instant?, at now: Instant) {
    let isHolder = holds(readNumber)
    if isHolder {
      (leaseUntil, heldUntil, lastError, failingSince) = (nil, nil, nil, nil)
      (attempts, refusals) = (0, 0)
    }
    guard readNumber > committed else { return }
    // What was read exists.
    (committed, lane) = (readNumber, 0)
    guard committed >= requested else {
      if isHolder { takeUpRest(at: now) }
      return
    }
    let since = unsettledSince
    (due, nextDue, unsettledSince, isDead) = (nil, nil, nil, false)
    // Also if a successor has the lease, which recorded that this reader did not come back in time.
    (failingSince, lastError) = (nil, nil)
    if let settleAfter {
      let gap = readBegan.map { settleAfter - $0 } ?? JobRules.confirmationDelay
      if gap > .seconds(0) {
        readAgain(at: now + min(max(gap, .seconds(1)), JobRules.backoffMax))
        unsettledSince = since
        return
      }
    }
    settleAfter = nil
    if confirmations > 0 {
      confirmations -= 1
      readAgain(at: now + JobRules.confirmationDelay)
    }
  }

  /// The requests before the read are settled, those since are not.
  private mutating func takeUpRest(at now: Instant) {
    unsettledSince = nextDue ?? unsettledSince
    due = max(nextDue ?? now, now + JobRules.pauseMin)
    nextDue = nil
  }

  /// Records that a read failed. Without the lease it changes nothing.
  mutating func fail(readNumber: Int64, _ failure: JobFailure, at now: Instant) {
    guard holds(readNumber) else { return }
    let asked = nextDue
    (leaseUntil, nextDue) = (nil, nil)
    // A predecessor that came back late has settled it meanwhile.
    guard let due else { return }
    let isSettled = asked.map { due >= $0 } ?? false
    attempts += 1
    failingSince = failingSince ?? now
    lastError = Self.clipped(failure.reason)
    switch failure {
    case .transient(_, let retryAfter):
      heldUntil = retryAfter.map { now + min($0, JobRules.retryAfterMax) }
    case .refused:
      heldUntil = nil
      refusals += 1
      // A request during the read would revive a dead job, so it keeps this one alive.
      if refusals >= JobRules.refusalCountMax, asked == nil {
        (isDead, self.due) = (true, nil)
        return
      }
    }
    let again = now + JobRules.backoff(attempt: attempts)
    // If that predecessor's read must be confirmed, the confirming read must not come sooner.
    let next = asked.map { isSettled ? $0 : min(again, $0) } ?? again
    self.due = max(next, now + JobRules.pauseMin, heldUntil ?? .distantPast)
  }

  /// Whether nothing was ever stored of the object, and only clients reported it before this read.
  func canBeForgotten(after readNumber: Int64) -> Bool {
    lane > 0 && holds(readNumber) && requested <= readNumber && committed == 0
  }

  /// Makes the job due now for an operator, whatever it waits for.
  mutating func revive(at now: Instant) {
    (isDead, attempts, refusals, heldUntil) = (false, 0, 0, nil)
    (lane, isShallow) = (0, false)
    if requested <= committed { requested = issued + 1 }
    // A read under way that began after the request is enough.
    guard leaseUntil == nil || requested > issued else { return }
    wait(until: now)
  }

  /// Drops, for an operator, what the job died of or waits for: it counts as settled.
  mutating func drop() {
    (due, nextDue) = (nil, nil)
    (isDead, attempts, refusals, confirmations, requested) = (false, 0, 0, 0, committed)
    (settleAfter, heldUntil, failingSince, unsettledSince) = (nil, nil, nil, nil)
  }

  private func holds(_ readNumber: Int64) -> Bool { leaseUntil != nil && issued == readNumber }

  private mutating func readAgain(at time: Instant) {
    requested = issued + 1
    wait(until: time)
  }

  /// Makes what is requested due at `time`, unless it is due earlier.
  private mutating func wait(until time: Instant) {
    unsettledSince = min(unsettledSince ?? time, time)
    if leaseUntil != nil {
      nextDue = min(nextDue ?? time, time)
      due = due ?? nextDue
    } else {
      due = max(min(due ?? time, time), heldUntil ?? .distantPast)
    }
  }

  /// U+0000 cannot be stored.
  private static func clipped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars where scalar != "\0" {
      if result.utf8.count >= JobRules.errorByteCountMax { break }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
