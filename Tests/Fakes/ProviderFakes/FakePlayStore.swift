package import Base
package import Crypto
package import JSON

/// A fake Google Play in virtual time: it sells, renews, notifies and answers, and knows the truth.
///
/// Every operation first performs what is due by the clock. One that no customer could perform, such as
/// undoing a cancellation after the end, traps: the test is wrong. Safe on any thread.
package final class FakePlayStore: Sendable {
  package let clock: FakeClock
  package let settings: Settings
  package let issuer: GoogleIssuer
  /// The faults of the publisher's API.
  package let faults = FakeFaults()
  /// The faults of the key set; tokens signed meanwhile are valid.
  package let keySetFaults = FakeFaults()
  /// The faults of the token endpoint.
  package let tokenFaults = FakeFaults()
  let state: Locked<State>

  package struct Settings: Sendable {
    package var packageName = "app.coffer"
    package var subscription = "projects/coffer-app/subscriptions/play-push"
    package var audience = "https://billing.coffer.example/webhooks/google"
    package var pushEmail = "play-push@coffer-app.iam.gserviceaccount.com"
    package var serviceEmail = "billing@coffer-app.iam.gserviceaccount.com"
    /// The key that must have signed assertions; nil rejects all.
    package var serviceKey: RSAPublicKey?
    package var tokenAudience = "https://oauth2.googleapis.com/token"
    /// Attempts before a message goes to the dead-letter topic; nil: there is none.
    package var attemptsMax: Int? = nil
    package var keySetMaxAge: Int64 = 19_504
    /// Determines the ids of tokens, orders and messages.
    package var seed: UInt64 = 1

    package init() {}
  }

  struct State: Sendable {
    var play: GooglePlay
    var topic: GooglePubSub
    var accessTokens: [String: Instant] = [:]
    var refusals: [String: Int] = [:]
    var publishedCount = 0
    var refundReviews: [RefundReview] = []

    mutating func publish() {
      for notification in play.notifications[publishedCount...] {
        topic.publish(
          GooglePubSub.Message(
            published: notification.at,
            data: notification.json(packageName: play.packageName).encoded(),
            name: notification.name, nextAttempt: notification.at))
      }
      publishedCount = play.notifications.count
    }
  }

  package init(clock: FakeClock, issuer: GoogleIssuer, settings: Settings = Settings()) {
    self.clock = clock
    self.issuer = issuer
    self.settings = settings
    state = Locked(
      State(
        play: GooglePlay(
          packageName: settings.packageName, now: clock.now, seed: settings.seed),
        topic: GooglePubSub(
          subscription: settings.subscription, attemptsMax: settings.attemptsMax,
          seed: settings.seed ^ 0x676F6F676C65)))
  }

  /// The seller's answer about an order before a refund.
  package struct RefundReview: Sendable {
    package let order: String
    package let json: JSON
  }

  package var refundReviews: [RefundReview] { state.withLock { $0.refundReviews } }

  /// Performs an operation at the clock's time, after everything that was due, and publishes the messages of
  /// both.
  func act<Result>(_ body: (inout State) -> Result) -> Result {
    let now = clock.now
    return state.withLock { state in
      state.play.run(until: now)
      state.publish()
      state.topic.drop(before: now)
      let result = body(&state)
      state.publish()
      return result
    }
  }

  // MARK: deliveries

  /// All messages published so far, oldest first.
  package var deliveries: [FakeDelivery] { act { Self.deliveries($0.topic.ids, $0) } }

  /// The messages to send now: neither accepted nor failed permanently, and not waiting for a retry.
  package var dueDeliveries: [FakeDelivery] {
    let now = clock.now
    return act { Self.deliveries($0.topic.due(at: now), $0) }
  }

  private static func deliveries(_ ids: [String], _ state: State) -> [FakeDelivery] {
    ids.map {
      FakeDelivery(id: $0, provider: "google", emitted: state.topic.messages[$0]!.published)
    }
  }

  /// The type of the inner notification, by Google's name.
  package func type(of delivery: FakeDelivery) -> String {
    state.withLock { $0.topic.messages[delivery.id]?.name ?? "" }
  }

  /// The push request of one attempt, with a token of that time.
  package func request(for delivery: FakeDelivery, at moment: Instant) -> FakeRequest {
    let body = state.withLock { $0.topic.envelope(delivery.id) }
    let token = issuer.token(
      audience: settings.audience, email: settings.pushEmail, at: moment)
    return FakeRequest(
      method: "POST", path: "/webhooks/google",
      headers: [
        ("Host", "billing.coffer.example"), ("Authorization", "Bearer \(token)"),
        ("Content-Type", "application/json"), ("Accept", "application/json"),
        ("From", "noreply@google.com"),
        (
          "User-Agent",
          "APIs-Google; (+https://developers.google.com/webmasters/APIs-Google.html)"
        ),
        ("Content-Length", String(body.count)), ("Accept-Encoding", "gzip, deflate, br"),
      ], body: body)
  }

  /// Records the receiver's status: 102, 200, 201, 202 and 204 acknowledge a message.
  package func answered(_ delivery: FakeDelivery, status: Int) {
    let now = clock.now
    state.withLock { state in
      if [102, 200, 201, 202, 204].contains(status) {
        state.topic.acknowledge(delivery.id)
      } else {
        state.topic.refuse(delivery.id, at: now)
      }
    }
  }

  /// Sends everything that is due and records the answers; returns the number sent.
  package func deliver(_ send: (FakeRequest) -> Int) -> Int {
    let due = dueDeliveries
    for delivery in due { answered(delivery, status: send(request(for: delivery, at: clock.now))) }
    return due.count
  }

  /// The number of messages in the dead-letter topic.
  package var deadLetterCount: Int {
    act { state in state.topic.messages.values.count { $0.state == .dead } }
  }

  /// Publishes the messages of the dead-letter topic again.
  package func redriveDeadLetters() -> [FakeDelivery] {
    let now = clock.now
    return act { state in
      let ids = state.topic.redrive(at: now)
      return Self.deliveries(ids, state)
    }
  }

  // MARK: the truth

  package var truths: [GoogleTruth] {
    act { state in
      state.play.tokens.map { token in
        let sale = state.play[token]
        return GoogleTruth(
          token: token, account: sale.owner, paid: sale.paid, graces: sale.graces,
          chargedBack: sale.chargedBack,
          acknowledgeBy: sale.acknowledgeBy, acknowledged: sale.acknowledged)
      }
    }
  }

  package func truth(of token: String) -> GoogleTruth {
    guard let truth = truths.first(where: { $0.token == token }) else {
      preconditionFailure("no such purchase was made")
    }
    return truth
  }

  /// The periods that an account has paid for or was given, over all its purchases.
  package func paidPeriods(of account: Identifier) -> [PaidPeriod] {
    truths.filter { $0.account == account }.flatMap { truth in
      truth.paid.map {
        PaidPeriod(account: account, productID: $0.productID, from: $0.from, to: $0.to)
      }
    }
  }

  /// When the store ends access to a purchase whose renewal is declined at present.
  package func graceUntil(_ token: String) -> Instant? {
    let now = clock.now
    return truth(of: token).graces.first { $0.from <= now && now < $0.to }?.to
  }

  /// All orders of a purchase, oldest first.
  package func orders(of token: String) -> [String] {
    act { state in
      state.play.orders.values.filter { $0.token == token }
        .sorted { ($0.created, $0.id.utf8.count, $0.id) < ($1.created, $1.id.utf8.count, $1.id) }
        .map(\.id)
    }
  }

}
