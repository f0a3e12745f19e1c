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
  /// Set exactly while the job is open; while it is leased, when what is being read was due.
  var due: Instant?
  /// While it is leased, when what was asked for since is due.
  var nextDue: Instant?
  /// When the oldest need that no read has settled was first due, however often it was put off.
  var unsettledSince: Instant?
  /// The provider wants no request before.
  var heldUntil: Instant?
  var leaseUntil: Instant?
  var attempts: Int64 = 0
  var refusals: Int64 = 0
  /// When the failures began that no kept answer has ended.
  var failingSince: Instant?
  /// 0 for what was told, else its turn among what clients alone say exists.
  var turn: Int64 = 0
  var isDead = false
  var lastError: String?

  /// Raises the need above every read that has begun.
  mutating func need(
    payload: [UInt8]?, due wanted: Instant, settleAfter end: Instant?, confirmations count: Int64,
    turn wantedTurn: Int64
  ) {
    let isIdle = due == nil && !isDead
    turn = isIdle ? wantedTurn : min(turn, wantedTurn)
    if isDead { (isDead, attempts, refusals) = (false, 0, 0) }
    self.payload = payload ?? self.payload
    needed = max(needed, issued + 1)
    if let end { settleAfter = max(settleAfter ?? end, end) }
    confirmations = max(confirmations, count)
    wait(until: wanted)
  }

  func canLease(at now: Instant) -> Bool {
    guard let due, due <= now else { return false }
    return leaseUntil.map { $0 <= now } ?? true
  }

  /// Begins a read; the generation is spent, whatever becomes of it.
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

  /// A read is over and its facts are kept. One whose lease has run out is as good, for what was
  /// needed before it began, but leaves the lease of its successor alone.
  mutating func commit(generation: Int64, readBegan: Instant?, at now: Instant) {
    let isHolder = holds(generation)
    if isHolder {
      (leaseUntil, heldUntil, lastError, failingSince) = (nil, nil, nil, nil)
      (attempts, refusals) = (0, 0)
    }
    guard generation > committed else { return }
    // What was read exists.
    (committed, turn) = (generation, 0)
    guard committed >= needed else {
      if isHolder { takeUpRest(at: now) }
      return
    }
    let since = unsettledSince
    (due, nextDue, unsettledSince, isDead) = (nil, nil, nil, false)
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

  /// What was asked for before the read is settled, what was asked since is not.
  private mutating func takeUpRest(at now: Instant) {
    unsettledSince = nextDue ?? unsettledSince
    due = max(nextDue ?? now, now + JobRules.pauseMin)
    nextDue = nil
  }

  /// A read failed. Without the lease it is nobody's business any more.
  mutating func fail(generation: Int64, _ failure: JobFailure, at now: Instant) {
    guard holds(generation) else { return }
    let asked = nextDue
    (leaseUntil, nextDue) = (nil, nil)
    // A predecessor that came late has settled it meanwhile.
    guard due != nil else { return }
    attempts += 1
    failingSince = failingSince ?? now
    lastError = Self.clipped(failure.reason)
    switch failure {
    case .transient(_, let retryAfter):
      heldUntil = retryAfter.map { now + min($0, JobRules.retryAfterMax) }
    case .refused:
      heldUntil = nil
      refusals += 1
      // News that came during the read revives the dead, so it keeps alive.
      if refusals >= JobRules.refusalCountMax, asked == nil {
        (isDead, due) = (true, nil)
        return
      }
    }
    let again = now + JobRules.backoff(attempt: attempts)
    due = max(
      min(again, asked ?? again), now + JobRules.pauseMin, heldUntil ?? .distantPast)
  }

  /// Whether nothing was ever kept of it and nobody but clients, before this read, told of it.
  func canBeForgotten(after generation: Int64) -> Bool {
    turn > 0 && holds(generation) && needed <= generation && committed == 0
  }

  /// An operator wants it read now, whatever it waits for.
  mutating func revive(at now: Instant) {
    (isDead, attempts, refusals, heldUntil) = (false, 0, 0, nil)
    turn = 0
    if needed <= committed { needed = issued + 1 }
    // A read under way that began after the need is what is wanted.
    guard leaseUntil == nil || needed > issued else { return }
    wait(until: now)
  }

  private func holds(_ generation: Int64) -> Bool { leaseUntil != nil && issued == generation }

  private mutating func readAgain(at time: Instant) {
    needed = issued + 1
    wait(until: time)
  }

  /// Has what is needed be due then, or earlier where it is already.
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
