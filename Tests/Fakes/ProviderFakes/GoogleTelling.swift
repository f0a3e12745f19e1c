package import Base
package import Crypto
internal import JSON

/// A story being told: what happens at the store, step by step with what our server must then say.
///
/// Deliveries arrive two seconds after they were published; steps are at whole seconds.
package final class GoogleTelling {
  package let clock: FakeClock
  package let store: FakePlayStore
  /// Where the customer may go instead.
  package let stripe: FakeStripe
  package let account: Identifier
  /// Raw requests and what reads answer, by file name.
  package private(set) var files: [(name: String, bytes: [UInt8])] = []
  private var steps: [JSONValue] = []
  private var told: Set<FakeDelivery> = []
  private var answers: [String: [UInt8]] = [:]
  private var last: Instant
  private var isDeleted = false
  /// What happened at our own server meanwhile; the store knows nothing of it.
  package private(set) var decisions: [(decision: Decision, at: Instant)] = []

  package enum Decision: Hashable, Sendable {
    case claim(token: String)
    case deleteAccount
  }

  /// What the account has after a step.
  package struct Expectation: Sendable {
    let plan: String
    let reason: String
    /// Of the account's Google purchases in the order they were made; the newest is its label.
    let labels: [String]
    /// Whether anything is said of labels at all.
    var tellsLabel = true
    /// How many add-ons come on top.
    var addOnCount: Int64 = 0

    /// With an add-on of two gigabytes.
    package var extra: Self {
      var copy = self
      copy.addOnCount += 1
      return copy
    }

    var cap: Int64 { GoogleTelling.caps[plan]! + addOnCount * GoogleTelling.caps["extra"]! }

    package static func premium(_ reason: String = "subscribed", _ labels: String...) -> Self {
      Self(plan: "premium", reason: reason, labels: labels.isEmpty ? ["active"] : labels)
    }
    package static func plus(_ reason: String = "subscribed", _ labels: String...) -> Self {
      Self(plan: "plus", reason: reason, labels: labels.isEmpty ? ["active"] : labels)
    }
    package static func free(_ reason: String, _ labels: String...) -> Self {
      Self(plan: "free", reason: reason, labels: labels)
    }
    /// Nothing yet.
    package static let nobody = free("never_subscribed")
    /// No access; what the purchase is called is left open.
    package static let nothing = Self(
      plan: "free", reason: "never_subscribed", labels: [], tellsLabel: false)
  }

  package static let caps: [String: Int64] = [
    "free": 1_000_000, "premium": 30_000_000_000, "plus": 200_000_000_000,
    "extra": 2_000_000_000,
  ]

  package init(name: String, start: Instant, key: RSAPrivateKey, serviceKey: RSAPublicKey) {
    let digest = SHA256.hash(Array("google/\(name)".utf8))
    clock = FakeClock(start)
    last = start - .hours(1)
    var settings = FakePlayStore.Settings()
    settings.seed = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    settings.serviceKey = serviceKey
    store = FakePlayStore(clock: clock, issuer: GoogleIssuer(keys: [key]), settings: settings)
    var stripeSettings = StripeSettings(.basil)
    stripeSettings.seed = "google/\(name)"
    stripe = FakeStripe(clock, stripeSettings)
    var bytes = Array(digest.suffix(16))
    // Version 4, variant 1: as our server makes them.
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    account = Identifier(bytes: bytes)!
  }

  // MARK: steps

  /// Only the clock moves, to the first whole second at or after `moment`.
  ///
  /// What reads answer changes only where something is told, or with `reading`.
  package func time(_ moment: Instant, _ expected: Expectation, reading: Bool = false) {
    step(at: moment, [], expected, reading: reading)
  }

  /// Everything published and not yet delivered arrives, each with its own expectation; what the
  /// first one is about is then acknowledged, if `acknowledging` names it.
  package func deliver(_ expected: Expectation..., acknowledging token: String? = nil) {
    let news = news
    precondition(news.count == expected.count, "\(news.count) deliveries wait: \(news)")
    for (delivery, expected) in zip(news, expected) {
      told.insert(delivery)
      arrive(delivery, expected, acknowledging: delivery == news.first ? token : nil)
    }
  }

  /// Everything that waits arrives, however much it is; one expectation holds throughout.
  package func deliverAll(_ expected: Expectation) {
    for delivery in news {
      told.insert(delivery)
      arrive(delivery, expected)
    }
  }

  private var news: [FakeDelivery] {
    (store.deliveries + stripe.deliveries).filter { !told.contains($0) }
  }

  /// The same delivery once more: Pub/Sub did not see our answer.
  package func repeatLast(_ expected: Expectation) {
    guard let delivery = store.deliveries.last(where: { told.contains($0) }) else { return }
    arrive(delivery, expected, answer: "duplicate")
  }

  /// The customer's app posts the token to our server.
  package func claim(_ token: String, _ expected: Expectation, acknowledging: Bool = false) {
    step(
      at: clock.now + .seconds(3), [.init("claim", .string(letter(token)))], expected,
      acknowledging: acknowledging ? token : nil, deciding: .claim(token: token))
  }

  package func deleteAccount() {
    isDeleted = true
    step(
      at: clock.now + .seconds(5), [.init("delete_account", true)], .nobody,
      deciding: .deleteAccount)
  }

  private func arrive(
    _ delivery: FakeDelivery, _ expected: Expectation, answer: String? = nil,
    acknowledging token: String? = nil
  ) {
    let moment = Self.ceiling(max(delivery.emitted + .seconds(2), last + .seconds(1), clock.now))
    let isGoogle = delivery.provider == "google"
    let type = isGoogle ? store.name(of: delivery) : stripe.type(of: delivery)
    let request =
      isGoogle
      ? store.request(for: delivery, at: moment)
      : Self.complete(stripe.request(for: delivery, at: moment))
    let name = "\(number)-\(type).http"
    files.append((name, request.bytes))
    var members = [JSONValue.Member("deliver", .string(name))]
    if let answer { members.append(.init("answer", .string(answer))) }
    step(at: moment, members, expected, acknowledging: token)
  }

  /// With what every request over HTTP/1.1 has.
  private static func complete(_ request: FakeRequest) -> FakeRequest {
    FakeRequest(
      method: request.method, path: request.path,
      headers: [("Host", "billing.coffer.example"), ("Content-Length", "\(request.body.count)")]
        + request.headers, body: request.body)
  }

  private var number: String { (steps.count < 9 ? "0" : "") + String(steps.count + 1) }

  private func step(
    at moment: Instant, _ members: [JSONValue.Member], _ expected: Expectation,
    acknowledging token: String? = nil, reading: Bool = true, deciding decision: Decision? = nil
  ) {
    let at = Self.ceiling(moment)
    precondition(last <= at, "steps are in order")
    last = at
    clock.set(max(clock.now, at))
    if let decision { decisions.append((decision, at)) }
    var step = members + [.init("at", .string(at.description))]
    let (purchases, orders) = reading ? changedAnswers() : ([], [])
    if !purchases.isEmpty { step.append(.init("reads", .object(purchases))) }
    if !orders.isEmpty { step.append(.init("orders", .object(orders))) }
    if let token { step.append(.init("acknowledges", [.string(letter(token))])) }
    step.append(.init("expect", isDeleted ? .object([]) : json(expected)))
    steps.append(.object(step))
    if let token {
      precondition(store.acknowledge(token, accountID: account), "nothing to acknowledge")
      time(at + .seconds(1), expected, reading: true)
    }
  }

  private func json(_ expected: Expectation) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("cap", .integer(expected.cap)), .init("plan", .string(expected.plan)),
      .init("reason", .string(expected.reason)),
    ]
    if expected.tellsLabel {
      members.append(.init("label", expected.labels.last.map { .string($0) } ?? .null))
    }
    if expected.labels.count > 1 {
      let tokens = store.truths.suffix(expected.labels.count)
      members.append(
        .init(
          "labels",
          .object(
            zip(tokens, expected.labels).map {
              .init(letter($0.token), .string($1))
            })))
    }
    return .object(members)
  }

  // MARK: what reads answer

  /// The answers that differ from those of the step before, each in a file of its own.
  private func changedAnswers() -> (purchases: [JSONValue.Member], orders: [JSONValue.Member]) {
    var (purchases, orders): ([JSONValue.Member], [JSONValue.Member]) = ([], [])
    for truth in store.truths {
      let letter = letter(truth.token)
      if let answer = change(of: truth.token, to: store.read(truth.token, asOf: clock.now)) {
        purchases.append(.init(letter, keep(answer, as: "purchase-\(letter)")))
      }
      for (index, order) in store.orders(of: truth.token).enumerated() {
        if let answer = change(of: order, to: store.readOrder(order, asOf: clock.now)) {
          orders.append(.init(order, keep(answer, as: "order-\(letter)\(index)")))
        }
      }
    }
    return (purchases, orders)
  }

  private func change(of name: String, to answer: FakeAnswer) -> FakeAnswer? {
    guard answers[name] != answer.body else { return nil }
    answers[name] = answer.body
    return answer
  }

  /// A file's name, or the status of an error.
  private func keep(_ answer: FakeAnswer, as name: String) -> JSONValue {
    guard answer.status == 200 else { return .integer(Int64(answer.status)) }
    let file = "\(number)-\(name).json"
    files.append((file, answer.body))
    return .string(file)
  }

  /// `A` is the first purchase of the story.
  private func letter(_ token: String) -> String {
    let index = store.truths.firstIndex { $0.token == token } ?? 0
    return String(UnicodeScalar(UInt8(ascii: "A") + UInt8(index)))
  }

  private static func ceiling(_ moment: Instant) -> Instant {
    Instant(seconds: (moment + .milliseconds(999)).seconds)
  }

  // MARK: the file

  /// `story.json`, a line for each step.
  package func storyFile(title: String) -> [UInt8] {
    let settings = store.settings
    let source =
      "Shape: Google's discovery document androidpublisher v3, revision 20261026, and its pages "
      + "on Pub/Sub push. Values: written by us."
    var members: [(String, JSONValue)] = [
      ("title", .string(title)), ("source", .string(source)),
      ("account", .string(account.description)), ("package", .string(settings.packageName)),
      ("audience", .string(settings.audience)), ("email", .string(settings.pushEmail)),
      ("subscription", .string(settings.subscription)),
    ]
    if !stripe.deliveries.isEmpty {
      let secret = String(decoding: stripe.secrets[0].exposed, as: UTF8.self)
      members.append(("stripe_secret", .string(secret)))
    }
    members.append(
      ("tokens", .object(store.truths.map { .init(letter($0.token), .string($0.token)) })))
    let head = members.map { "  \"\($0)\": \(Self.line($1)),\n" }.joined()
    let lines = steps.map { "    " + Self.line($0) }.joined(separator: ",\n")
    return Array("{\n\(head)  \"steps\": [\n\(lines)\n  ]\n}\n".utf8)
  }

  private static func line(_ value: JSONValue) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }
}
