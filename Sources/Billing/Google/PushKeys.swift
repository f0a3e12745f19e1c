package import Base
import Crypto
import HTTPMessages
import JSON
package import ProviderAPI
import Stores

/// Google's keys for signing push tokens, read from its key set and kept for a while.
///
/// A thread of its own reads the set: when a token first needs it, before the set expires, and at most once a
/// minute when a token names a missing key, so a forged key id costs nothing. A failed read is repeated at
/// growing intervals. A token whose key is missing waits without a thread. Any thread may use it.
package final class PushKeys: Sendable {
  package static let refreshFloor = Instant.Span.seconds(60)
  package static let ageLimits = (min: Instant.Span.minutes(5), max: Instant.Span.hours(24))
  /// How long a set stays in use beyond its expiry if its address does not answer.
  package static let staleMax = Instant.Span.hours(24)
  /// How long a token waits for its key. With one more read it is below Pub/Sub's ten seconds.
  package static let patience = Instant.Span.seconds(5)
  /// The deadline that `transport` must keep.
  package static let readDeadline = Instant.Span.seconds(3)
  package static let waiterCountMax = 256

  private let reading: Reading

  package init(
    url: String, transport: any ProviderTransport, clock: Clock,
    patience: Instant.Span = PushKeys.patience
  ) {
    reading = Reading(url: url, transport: transport, clock: clock, patience: patience)
  }

  /// Ends the thread, which may still be reading.
  deinit { reading.stop() }

  enum Lookup: Sendable {
    case known(RSAPublicKey)
    case refused(GoogleRefusal)
    /// `done` is called once, on the reading thread.
    case waits
  }

  /// The key of that id. If it is missing, `done` gets it once the set has been read.
  func key(
    _ id: String, done: @escaping @Sendable (Result<RSAPublicKey, GoogleRefusal>) -> Void
  ) -> Lookup {
    reading.key(id, done)
  }
}

/// The key set, the requests that wait for it, and the thread that reads it.
private final class Reading: Sendable {
  private static let keyCountMax = 32
  /// The delay after a failed read, doubled with each further failure.
  private static let retryLimits = (
    min: Instant.Span.milliseconds(250), max: PushKeys.refreshFloor
  )
  /// The longest sleep of the thread, because a clock may be set.
  private static let sleepMax = Instant.Span.minutes(1)

  private let url: String
  private let transport: any ProviderTransport
  private let clock: Clock
  private let patience: Instant.Span
  private let state = Locked(State())
  private let thread = Locked<Thread?>(nil)

  private struct State: Sendable {
    var keys: [String: RSAPublicKey] = [:]
    /// When the set is read again although it is still valid: a tenth of its lifetime before its expiry.
    var refreshAt = Instant.distantPast
    var usableUntil = Instant.distantPast
    var lastRead = Instant.distantPast
    /// Failures in a row, and the time of the next attempt after the last one.
    var failureCount = 0
    var retryAt = MonotonicTime.now()
    var isAsked = false
    var isReading = false
    var isStopped = false
    var waiters: [Waiter] = []

    func known(_ id: String, at now: Instant) -> RSAPublicKey? {
      now < usableUntil ? keys[id] : nil
    }

    /// A read in progress serves requests that arrive during it, so forged ids cause no further one.
    mutating func ask() { if !isReading { isAsked = true } }
  }

  private struct Waiter: Sendable {
    let id: String
    let deadline: MonotonicTime
    let done: @Sendable (Result<RSAPublicKey, GoogleRefusal>) -> Void
  }

  init(url: String, transport: any ProviderTransport, clock: Clock, patience: Instant.Span) {
    self.url = url
    self.transport = transport
    self.clock = clock
    self.patience = patience
  }

  func key(
    _ id: String, _ done: @escaping @Sendable (Result<RSAPublicKey, GoogleRefusal>) -> Void
  ) -> PushKeys.Lookup {
    let now = clock.now()
    let real = MonotonicTime.now()
    let lookup = state.signal { state -> PushKeys.Lookup in
      if let key = state.known(id, at: now) {
        if now >= state.refreshAt { state.ask() }
        return .known(key)
      }
      let isPending = state.isReading || state.isAsked
      if !isPending, state.failureCount == 0, now < state.usableUntil,
        // A clock that was set back must not delay the next read.
        (state.lastRead..<state.lastRead + PushKeys.refreshFloor).contains(now)
      {
        return .refused(.unknownKey)
      }
      let deadline = real + patience
      guard state.waiters.count < PushKeys.waiterCountMax, isPending || state.retryAt <= deadline
      else { return .refused(.keysUnavailable) }
      state.ask()
      state.waiters.append(Waiter(id: id, deadline: deadline, done: done))
      return .waits
    }
    switch lookup {
    case .waits, .known: begin()
    case .refused: break
    }
    return lookup
  }

  /// The thread starts with the first request for a key.
  private func begin() {
    thread.withLock { thread in
      if thread == nil { thread = Thread { [self] in work() } }
    }
  }

  func stop() {
    state.signal { $0.isStopped = true }
    thread.withLock { $0 }?.join()
  }

  // MARK: the thread

  private func work() {
    while true {
      let wake = state.withLock { self.wake($0) }
      let isStopped = state.wait(until: wake) { state -> Bool? in
        if state.isStopped { return true }
        return state.isAsked && state.retryAt <= MonotonicTime.now() ? false : nil
      }
      if isStopped == true { return release(all: true) }
      if mustRead() { read() }
      release(all: false)
    }
  }

  /// When the thread must act without a request.
  private func wake(_ state: State) -> MonotonicTime {
    let real = MonotonicTime.now()
    let read =
      state.isAsked
      ? state.retryAt : max(real + (state.refreshAt - clock.now()), state.retryAt)
    return state.waiters.map(\.deadline).reduce(min(real + Self.sleepMax, read), min)
  }

  private func mustRead() -> Bool {
    let (now, real) = (clock.now(), MonotonicTime.now())
    return state.withLock { state in
      guard state.retryAt <= real, state.isAsked || now >= state.refreshAt else { return false }
      (state.isAsked, state.isReading) = (false, true)
      state.lastRead = now
      return true
    }
  }

  private func read() {
    let result = Result { () throws(APIFailure) in
      let reply = try transport.send(
        APIRequest("GET", url, headers: [("Accept", "application/json")])
      ).successful()
      let keys = Self.keys(reply.body)
      guard !keys.isEmpty else { throw APIFailure.malformed("the key set holds no RSA key") }
      return (keys, Self.age(reply))
    }
    let now = clock.now()
    state.withLock { state in
      state.isReading = false
      switch result {
      case .success(let (keys, age)):
        (state.keys, state.failureCount) = (keys, 0)
        state.refreshAt = now + .milliseconds(age.milliseconds / 10 * 9)
        state.usableUntil = now + age + PushKeys.staleMax
      case .failure:
        let wait = Self.retryLimits.min.milliseconds << min(state.failureCount, 20)
        state.failureCount += 1
        state.retryAt = MonotonicTime.now() + min(.milliseconds(wait), Self.retryLimits.max)
      }
    }
    if case .failure(let failure) = result {
      Log.warning("google.keys_not_read", ["reason": "\(failure)"])
    }
  }

  /// Answers requests whose key is there, whose key is known not to exist, and that have waited long enough.
  private func release(all: Bool) {
    let (now, real) = (clock.now(), MonotonicTime.now())
    let answers = state.withLock { state in
      var answers: [(Waiter, Result<RSAPublicKey, GoogleRefusal>)] = []
      var rest: [Waiter] = []
      for waiter in state.waiters {
        if let key = state.known(waiter.id, at: now) {
          answers.append((waiter, .success(key)))
        } else if all || waiter.deadline <= real {
          answers.append((waiter, .failure(.keysUnavailable)))
        } else if state.failureCount == 0, !state.isAsked, now < state.usableUntil {
          answers.append((waiter, .failure(.unknownKey)))
        } else {
          rest.append(waiter)
        }
      }
      state.waiters = rest
      // The remaining requests wait for the next attempt.
      if !rest.isEmpty { state.isAsked = true }
      return answers
    }
    for (waiter, result) in answers { waiter.done(result) }
  }

  // MARK: the answer

  /// RSA keys that may sign push tokens, by id. Others, and malformed ones, are skipped.
  private static func keys(_ body: [UInt8]) -> [String: RSAPublicKey] {
    guard let json = try? JSON.parseForeign(body), let list = json["keys"].array else { return [:] }
    var keys: [String: RSAPublicKey] = [:]
    for item in list.prefix(keyCountMax) where item["kty"].string == "RSA" {
      guard let id = item["kid"].id, item["use"].string ?? "sig" == "sig",
        item["alg"].string ?? "RS256" == "RS256",
        let modulus = item["n"].string.flatMap({ Base64.url.decode($0) }),
        let exponent = item["e"].string.flatMap({ Base64.url.decode($0) }),
        let key = RSAPublicKey(modulus: modulus, exponent: exponent)
      else { continue }
      keys[id] = key
    }
    return keys
  }

  private static func age(_ reply: APIReply) -> Instant.Span {
    let limits = PushKeys.ageLimits
    let directives = (reply.headers.text("cache-control") ?? "").split(separator: ",")
    for directive in directives {
      let text = directive.drop { $0 == " " }
      guard text.lowercased().hasPrefix("max-age="), let seconds = Int64(text.dropFirst(8)) else {
        continue
      }
      return min(max(.seconds(min(max(0, seconds), 1_000_000)), limits.min), limits.max)
    }
    return limits.min
  }
}
