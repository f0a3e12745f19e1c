internal import Base
internal import HTTPMessages

/// How many requests an account may make of this instance: so many at once, then so many a second.
///
/// Which account a key or session is of, only the database can say, and to ask it first would cost
/// what the limit is there to save. So what its answers said is remembered here: a request by a key
/// that was confirmed before is counted by its headers alone, and refused before anything is done
/// for it; any other is counted where its own transaction finds the account, before its work. Keys
/// that the database does not know, or no longer, are not remembered, and count for no account.
final class RequestLimiter: Sendable {
  /// Accounts, and keys, told apart for certain within the time that a burst takes to come back.
  private static let countMax = 100_000

  private let burst: Int64
  private let policy: String
  private let buckets: TokenBuckets<Identifier>
  private let accounts = Locked(Generations<[UInt8], Identifier>(countMax: countMax))

  init(_ limits: SyncLimits, now: @escaping @Sendable () -> MonotonicTime) {
    burst = limits.requestBurst
    // The window is the time in which the whole quota comes back; rounded up, as it must be whole.
    let window = (burst + limits.requestsPerSecond - 1) / limits.requestsPerSecond
    policy = "\"requests\";q=\(burst);w=\(window)"
    buckets = TokenBuckets(
      burst: burst, perSecond: limits.requestsPerSecond, keyCountMax: Self.countMax, now: now)
  }

  fileprivate func account(of key: [UInt8]) -> Identifier? {
    accounts.withLock { $0.value(key) }
  }

  fileprivate func remember(_ key: [UInt8], of account: Identifier) {
    accounts.withLock { $0.set(key, account) }
  }

  fileprivate func forget(_ key: [UInt8]) {
    accounts.withLock { $0.remove(key) }
  }

  /// Counts a request, and says in its answer what is left
  /// (draft-ietf-httpapi-ratelimit-headers-10).
  fileprivate func count(_ account: Identifier, _ fields: AnswerFields) throws(Refusal) {
    let left = buckets.take(account)
    let level = left ?? buckets.level(account)
    fields.add("RateLimit-Policy", policy)
    fields.add(
      "RateLimit", "\"requests\";r=\(left?.count ?? 0);t=\(max(1, level.secondsToNext))")
    guard left != nil else {
      throw .rateLimited(retryAfterSeconds: Int(max(1, level.secondsToNext)))
    }
  }
}

/// One request's part in its account's limit: counted once, however often its transaction runs.
final class RequestMeter: Sendable {
  private let limiter: RequestLimiter
  private let key: [UInt8]
  private let fields: AnswerFields
  private let counted = Locked<Identifier?>(nil)

  init(_ limiter: RequestLimiter, key: [UInt8], _ fields: AnswerFields) {
    self.limiter = limiter
    self.key = key
    self.fields = fields
  }

  /// Counts the request where its account is known already. The key must be proven the sender's.
  func begin() throws(Refusal) {
    guard let account = limiter.account(of: key) else { return }
    try count(account)
  }

  /// Takes from the database whose the key is; counts the request unless it was counted before.
  func confirm(_ account: Identifier) throws(Refusal) {
    let before = counted.withLock { $0 }
    guard before != account else { return }
    limiter.remember(key, of: account)
    if before == nil { try count(account) }
  }

  /// Takes from the database that the key is nobody's, so that no account is charged for it again.
  func reject() { limiter.forget(key) }

  private func count(_ account: Identifier) throws(Refusal) {
    counted.withLock { $0 = account }
    try limiter.count(account, fields)
  }
}
