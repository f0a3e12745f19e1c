package import Base
import HTTPMessages

/// The limit of an account's requests to this instance: a number of units at once, then a number of units a
/// second.
///
/// A request costs one unit, and more for the work that it causes (`Price`). The extra units are charged when
/// they are known, even if the account does not have them. The account's next requests then wait for the
/// missing units.
///
/// Only the database knows which account a key or session belongs to. Asking it first would cost the work
/// that the limit is there to save, so its answers are remembered here. A request by a key that was confirmed
/// before is counted by its headers alone, and refused before any work is done for it. Any other request is
/// counted when its own transaction finds the account, before its work. Keys that the database does not know,
/// or no longer knows, are not remembered and count for no account.
package final class RequestLimiter: Sendable {
  /// The number of accounts, and of keys, that are certain to be distinguished within the time that
  /// a burst takes to come back.
  private static let countMax = 100_000

  private let burst: Int64
  private let policy: String
  private let buckets: TokenBuckets<Identifier>
  private let accounts = Locked(Epochs<[UInt8], Identifier>(countMax: countMax))

  package init(burst: Int64, perSecond: Int64, now: @escaping @Sendable () -> MonotonicTime) {
    self.burst = burst
    // The window is the time in which the whole quota comes back, rounded up, because it must be whole.
    let window = (burst + perSecond - 1) / perSecond
    policy = "\"requests\";q=\(burst);w=\(window)"
    buckets = TokenBuckets(burst: burst, perSecond: perSecond, keyCountMax: Self.countMax, now: now)
  }

  /// Whether the database has recently confirmed that the key belongs to an account.
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

  /// Counts a request, and states in its response what is left (draft-ietf-httpapi-ratelimit-headers-10).
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

/// The cost of a request in addition to its one unit, in units of its account's limit. A unit is
/// about three milliseconds of a processor. docs/sync-api.md has the list.
package enum Price {
  /// The cost of rows that the transaction read or changed.
  package static func rows(_ count: Int64) -> Int64 { count / 100 }

  /// The cost of JSON that was parsed, with the signatures in it that were checked.
  package static func json(_ byteCount: Int) -> Int64 { Int64(byteCount) / (32 << 10) }

  /// The cost of content to hash and store, or to send.
  package static func content(_ byteCount: Int64) -> Int64 { byteCount >> 20 }
}

/// One request's share of its account's limit, counted once, however often its transaction runs.
package final class RequestMeter: Sendable {
  private struct State {
    var account: Identifier?
    var isRejected = false
    var charged: [Item: Int64] = [:]
  }

  package enum Item { case reading, writing, json, content }

  private let limiter: RequestLimiter
  private let key: [UInt8]
  private let fields: AnswerFields
  private let rejected: @Sendable () -> Void
  private let state = Locked(State())

  /// `rejected` is called once if the key belongs to no account.
  init(
    _ limiter: RequestLimiter, key: [UInt8], _ fields: AnswerFields,
    rejected: @escaping @Sendable () -> Void
  ) {
    self.limiter = limiter
    self.key = key
    self.fields = fields
    self.rejected = rejected
  }

  /// Whether the request's account is known.
  package var isCounted: Bool { state.withLock { $0.account != nil } }

  /// Counts the request if its account is known already. The key must be proven to be the sender's.
  func begin() throws(RequestRefusal) {
    guard let account = limiter.account(of: key) else { return }
    try count(account)
  }

  /// Records the account that the database found for the key. Counts the request unless it was
  /// counted before.
  package func confirm(_ account: Identifier) throws(RequestRefusal) {
    let before = state.withLock { $0.account }
    guard before != account else { return }
    limiter.remember(key, of: account)
    if before == nil { try count(account) }
  }

  /// Records that the database found no account for the key, so that none is charged for it again.
  package func reject() {
    limiter.forget(key)
    let isFirst = state.withLock { state in
      defer { state.isRejected = true }
      return !state.isRejected
    }
    if isFirst { rejected() }
  }

  /// Charges the request's account for an item that costs `units` in total. Units charged for it
  /// before are not charged again, so a transaction that runs twice costs as much as its more
  /// expensive run. It never refuses: missing units are a debt.
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
