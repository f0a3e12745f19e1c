package import Base
internal import HTTPMessages

/// How much an account may ask of this instance: so many units at once, then so many a second.
///
/// A request costs one unit, and more by what it had the server do (`Price`): the rest is charged when
/// it is known, there or not, and what was not there the account's next requests wait for.
///
/// Which account a key or session is of, only the database can say, and to ask it first would cost
/// what the limit is there to save. So what its answers said is remembered here: a request by a key
/// that was confirmed before is counted by its headers alone, and refused before anything is done
/// for it; any other is counted where its own transaction finds the account, before its work. Keys
/// that the database does not know, or no longer, are not remembered, and count for no account.
package final class RequestLimiter: Sendable {
  /// Accounts, and keys, told apart for certain within the time that a burst takes to come back.
  private static let countMax = 100_000

  private let burst: Int64
  private let policy: String
  private let buckets: TokenBuckets<Identifier>
  private let accounts = Locked(Epochs<[UInt8], Identifier>(countMax: countMax))

  package init(
    burst: Int64, perSecond: Int64, now: @escaping @Sendable () -> MonotonicTime
  ) {
    self.burst = burst
    // The window is the time in which the whole quota comes back; rounded up, as it must be whole.
    let window = (burst + perSecond - 1) / perSecond
    policy = "\"requests\";q=\(burst);w=\(window)"
    buckets = TokenBuckets(
      burst: burst, perSecond: perSecond, keyCountMax: Self.countMax, now: now)
  }

  /// Whether the database has confirmed the key, not long ago, to be somebody's.
  func knows(_ key: [UInt8]) -> Bool { account(of: key) != nil }

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
  fileprivate func count(_ account: Identifier, _ fields: AnswerFields) throws(RequestRefusal) {
    let left = buckets.take(account)
    let level = left ?? buckets.level(account)
    tell(level, fields)
    guard left != nil else {
      throw .rateLimited(retryAfterSeconds: Int(max(1, level.secondsToNext)))
    }
  }

  fileprivate func charge(_ account: Identifier, _ units: Int64, _ fields: AnswerFields) {
    tell(buckets.charge(account, units), fields)
  }

  private func tell(_ level: TokenBuckets<Identifier>.Level, _ fields: AnswerFields) {
    fields.set("RateLimit-Policy", policy)
    fields.set("RateLimit", "\"requests\";r=\(level.count);t=\(max(1, level.secondsToNext))")
  }
}

/// What a request costs beside its one unit, in units of its account's limit: about three
/// milliseconds of a processor each. docs/sync-api.md has the list.
package enum Price {
  /// Rows that its transaction read or changed.
  package static func rows(_ count: Int64) -> Int64 { count / 100 }

  /// Bytes of JSON that it has parsed, and of the signatures among them checked.
  package static func json(_ byteCount: Int) -> Int64 { Int64(byteCount) / (32 << 10) }

  /// Bytes of content, to be hashed and stored, or to be sent.
  package static func content(_ byteCount: Int64) -> Int64 { byteCount >> 20 }
}

/// One request's part in its account's limit: counted once, however often its transaction runs.
package final class RequestMeter: Sendable {
  private struct State {
    var account: Identifier?
    var isRejected = false
    /// By what it was charged for.
    var charged: [Item: Int64] = [:]
  }

  package enum Item { case reading, writing, json, content }

  private let limiter: RequestLimiter
  private let key: [UInt8]
  private let fields: AnswerFields
  private let rejected: @Sendable () -> Void
  private let state = Locked(State())

  /// `rejected` is called once where the key is nobody's.
  init(
    _ limiter: RequestLimiter, key: [UInt8], _ fields: AnswerFields,
    rejected: @escaping @Sendable () -> Void
  ) {
    self.limiter = limiter
    self.key = key
    self.fields = fields
    self.rejected = rejected
  }

  /// Whether it is known whose the request is.
  package var isCounted: Bool { state.withLock { $0.account != nil } }

  /// Counts the request where its account is known already. The key must be proven the sender's.
  func begin() throws(RequestRefusal) {
    guard let account = limiter.account(of: key) else { return }
    try count(account)
  }

  /// Takes from the database whose the key is; counts the request unless it was counted before.
  func confirm(_ account: Identifier) throws(RequestRefusal) {
    let before = state.withLock { $0.account }
    guard before != account else { return }
    limiter.remember(key, of: account)
    if before == nil { try count(account) }
  }

  /// Takes from the database that the key is nobody's, so that no account is charged for it again.
  func reject() {
    limiter.forget(key)
    let isFirst = state.withLock { state in
      defer { state.isRejected = true }
      return !state.isRejected
    }
    if isFirst { rejected() }
  }

  /// Charges the request's account for an item, which costs so many units in all: what was charged
  /// for it before is not charged again, so a transaction that runs twice costs what its dearer run
  /// does. Never refuses: what is not there is a debt.
  package func charge(_ units: Int64, for item: Item) {
    let (account, rest) = state.withLock { state in
      let before = state.charged[item] ?? 0
      state.charged[item] = max(before, units)
      return (state.account, units - before)
    }
    if let account, rest > 0 { limiter.charge(account, rest, fields) }
  }

  private func count(_ account: Identifier) throws(RequestRefusal) {
    state.withLock { $0.account = account }
    try limiter.count(account, fields)
  }
}
