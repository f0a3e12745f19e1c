internal import Base

/// The row of one job and the steps it can take; each step is a pure function of the row.
struct JobState: Equatable {
  var payload: [UInt8]?
  /// A read of this generation or a later one settles the job.
  var needed: Int64 = 0
  var issued: Int64 = 0
  var committed: Int64 = 0
  /// A read that began earlier, by the provider's clock, does not settle.
  var settleAfter: Instant?
  /// Further reads after the one that settles.
  var confirmations: Int64 = 0
  /// Set exactly while the job is open.
  var due: Instant?
  /// The provider wants no request before.
  var heldUntil: Instant?
  var leaseUntil: Instant?
  var attempts: Int64 = 0
  var refusals: Int64 = 0
  var isDead = false
  var lastError: String?

  /// Raises the need above every read that has begun.
  mutating func need(
    payload: [UInt8]?, due wanted: Instant, settleAfter end: Instant?, confirmations count: Int64
  ) {
    if isDead { (isDead, attempts, refusals) = (false, 0, 0) }
    self.payload = payload ?? self.payload
    needed = max(needed, issued + 1)
    if let end { settleAfter = max(settleAfter ?? end, end) }
    confirmations = max(confirmations, count)
    due = max(min(due ?? wanted, wanted), heldUntil ?? .distantPast)
  }

  func canLease(at now: Instant) -> Bool {
    guard let due, due <= now else { return false }
    return leaseUntil.map { $0 <= now } ?? true
  }

  /// Begins a read; the generation is spent, whatever becomes of it.
  mutating func lease(at now: Instant) {
    if leaseUntil != nil {
      attempts += 1
      lastError = "the reader did not come back in time"
    }
    issued += 1
    leaseUntil = now + JobRules.leaseTime
  }

  /// A read is over and its facts are kept. One whose lease has run out is as good, for what was
  /// needed before it began, but leaves the lease of its successor alone.
  mutating func commit(generation: Int64, readBegan: Instant?, at now: Instant) {
    if holds(generation) {
      (leaseUntil, heldUntil, lastError) = (nil, nil, nil)
      (attempts, refusals) = (0, 0)
    }
    guard generation > committed else { return }
    committed = generation
    guard committed >= needed else { return }
    isDead = false
    due = nil
    if let settleAfter {
      let gap = readBegan.map { settleAfter - $0 } ?? JobRules.confirmationDelay
      if gap > .seconds(0) {
        return readAgain(at: now + min(max(gap, .seconds(1)), JobRules.backoffMax))
      }
    }
    settleAfter = nil
    if confirmations > 0 {
      confirmations -= 1
      readAgain(at: now + JobRules.confirmationDelay)
    }
  }

  /// A read failed. Without the lease it is nobody's business any more.
  mutating func fail(generation: Int64, _ failure: JobFailure, at now: Instant) {
    guard holds(generation) else { return }
    leaseUntil = nil
    // A predecessor that came late has settled it meanwhile.
    guard due != nil else { return }
    attempts += 1
    lastError = Self.clipped(failure.reason)
    switch failure {
    case .transient(_, let retryAfter):
      heldUntil = retryAfter.map { now + min($0, JobRules.retryAfterMax) }
    case .refused:
      heldUntil = nil
      refusals += 1
      if refusals >= JobRules.refusalCountMax {
        (isDead, due) = (true, nil)
        return
      }
    }
    due = max(now + JobRules.backoff(attempt: attempts), heldUntil ?? .distantPast)
  }

  /// An operator wants it read now, whatever it waits for.
  mutating func revive(at now: Instant) {
    (isDead, attempts, refusals, heldUntil) = (false, 0, 0, nil)
    if needed <= committed { needed = issued + 1 }
    due = now
  }

  private func holds(_ generation: Int64) -> Bool { leaseUntil != nil && issued == generation }

  private mutating func readAgain(at time: Instant) {
    needed = issued + 1
    due = time
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
