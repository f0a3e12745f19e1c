package import Base
package import Crypto
package import JSON

/// A fake App Store in virtual time: it sells, renews, notifies and answers, and knows the truth.
///
/// Every operation first performs what is due by the clock. One that no customer could perform, such as a
/// second refund, traps: the test is wrong. Safe on any thread.
package final class FakeAppStore: Sendable {
  package let clock: FakeClock
  package let settings: Settings
  package let signer: AppleSigner
  /// The faults of the App Store Server API.
  package let faults = FakeFaults()
  private let state: Locked<State>

  package struct Settings: Sendable {
    package var bundleID = "com.example.coffer"
    package var appAppleID: Int64 = 1_234_567_890
    package var bundleVersion = "184"
    package var environment = AppleEnvironment.production
    /// The key that must have signed bearer tokens; nil rejects all.
    package var apiKey: P256PublicKey?
    package var apiKeyID = "2X9R4HXF34"
    package var apiIssuerID = "57246542-96fe-1a63-e053-0824d011072a"
    /// Billing Grace Period: 0 if off, otherwise 3, 16 or 28.
    package var graceDays: Int64 = 16
    /// Whether grace also follows a trial.
    package var graceAfterTrial = true
    /// Whether the store still reports grace although the period before it was refunded.
    package var tellsGraceAfterRefund = false
    /// How long before the old period's end a renewal is charged and reported; at most a day.
    package var renewalLead = Instant.Span.hours(6)
    /// Whether a repeated notification has the `signedDate` of its attempt. Its inner objects stay the same.
    package var signsAttempts = false
    /// Determines the ids of transactions, customers and notifications.
    package var seed: UInt64 = 1

    package init() {}

    /// The sandbox does not send it.
    var announcedAppID: JSONValue? { environment == .sandbox ? nil : .integer(appAppleID) }
  }

  private struct State: Sendable {
    var world: AppStoreWorld
    /// Earlier worlds, each valid from its `now` until the next one's.
    var history: [AppStoreWorld]
    var attempts: [String: [AppleAttempt]] = [:]
    var consumptions: [Consumption] = []

    mutating func keep(_ world: AppStoreWorld) {
      // The first one is the store before anything happened.
      if history.count > 1, history.last?.now == world.now { history.removeLast() }
      history.append(world)
    }

    func world(asOf moment: Instant) -> AppStoreWorld {
      history.last { $0.now <= moment } ?? history[0]
    }
  }

  package init(clock: FakeClock, signer: AppleSigner, settings: Settings = Settings()) {
    self.clock = clock
    self.signer = signer
    self.settings = settings
    let world = AppStoreWorld(settings, now: clock.now)
    state = Locked(State(world: world, history: [world]))
  }

  /// Performs an operation at the clock's time, after everything that was due.
  @discardableResult
  func act<Result>(_ body: (inout AppStoreWorld) -> Result) -> Result {
    let now = clock.now
    return state.withLock { state in
      var world = state.world
      world.run(until: now) { state.keep($0) }
      let result = body(&world)
      state.world = world
      state.keep(world)
      return result
    }
  }

  /// The store as it was at a past moment.
  func world(asOf moment: Instant) -> AppStoreWorld {
    catchUp()
    return state.withLock { $0.world(asOf: moment) }
  }

  /// Performs what is due after someone else has moved the clock.
  package func catchUp() { act { _ in } }

  // MARK: what it was told

  /// The seller's answer about a transaction before a refund.
  package struct Consumption: Sendable {
    package let transaction: String
    package let json: JSON
  }

  package var consumptions: [Consumption] { state.withLock { $0.consumptions } }

  func note(consumption json: JSON, of transaction: String) {
    state.withLock { $0.consumptions.append(Consumption(transaction: transaction, json: json)) }
  }

  // MARK: deliveries

  /// All notifications so far, oldest first.
  package var deliveries: [FakeDelivery] { act { $0.notices.map(\.delivery) } }

  /// The notifications to send now: not accepted, not failed permanently, and not waiting for a retry.
  package var dueDeliveries: [FakeDelivery] {
    let now = clock.now
    let (notices, spans) = act { ($0.notices, $0.terms.deliverySpans) }
    return state.withLock { state in
      notices.filter { notice in
        let attempts = state.attempts[notice.id] ?? []
        guard let last = attempts.last else { return true }
        return !last.isSuccess && attempts.count <= spans.count
          && last.at + spans[attempts.count - 1] <= now
      }.map(\.delivery)
    }
  }

  /// The notification's type, with its subtype after a dot, for file names and tests' messages.
  package func type(of delivery: FakeDelivery) -> String { notice(delivery).name }

  /// The request of one attempt.
  package func request(for delivery: FakeDelivery, at moment: Instant) -> FakeRequest {
    let payload: JSONValue = ["signedPayload": .string(signedPayload(of: delivery, at: moment))]
    let body = payload.encoded()
    return FakeRequest(
      method: "POST", path: "/webhooks/apple",
      headers: [
        ("Host", "billing.coffer.example"), ("Content-Type", "application/json"),
        ("Accept", "application/json"), ("Content-Length", String(body.count)),
      ], body: body)
  }

  func signedPayload(of delivery: FakeDelivery, at moment: Instant) -> String {
    let notice = notice(delivery)
    let date = settings.signsAttempts ? max(notice.signed, moment) : notice.signed
    return notice.signedPayload(settings, signer, at: date)
  }

  private func notice(_ delivery: FakeDelivery) -> AppleNotice {
    guard let notice = act({ $0.notices.first { $0.id == delivery.id } }) else {
      preconditionFailure("no such notification: \(delivery.id)")
    }
    return notice
  }

  /// Records the receiver's status; nil if it did not answer.
  package func answered(_ delivery: FakeDelivery, status: Int?) {
    let attempt = AppleAttempt(at: clock.now, status: status)
    state.withLock { $0.attempts[delivery.id, default: []].append(attempt) }
  }

  /// Sends everything that is due and records the answers; returns the number sent.
  package func deliver(_ send: (FakeRequest) -> Int?) -> Int {
    let due = dueDeliveries
    for delivery in due { answered(delivery, status: send(request(for: delivery, at: clock.now))) }
    return due.count
  }

  func attempts(_ notice: AppleNotice) -> [AppleAttempt] {
    state.withLock { $0.attempts[notice.id] ?? [] }
  }
}

/// One attempt to deliver a notification.
struct AppleAttempt: Sendable {
  let at: Instant
  let status: Int?

  var isSuccess: Bool { status.map { (200...206).contains($0) } ?? false }

  /// `sendAttemptResult`.
  var result: String {
    isSuccess ? "SUCCESS" : status == nil ? "TIMED_OUT" : "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
  }
}

extension AppleNotice {
  var delivery: FakeDelivery { FakeDelivery(id: id, provider: "apple", emitted: signed) }
}
