package import Base
internal import Crypto
internal import JSON

/// A story being told: what happens at the store, step by step with what our server must then say.
///
/// Deliveries arrive two seconds after they were signed; steps are at whole seconds.
package final class AppleTelling {
  package let clock: FakeClock
  package let store: FakeAppStore
  /// Where the customer may go instead.
  package let stripe: FakeStripe
  package let account: Identifier
  /// Raw requests and transactions that the app posts, by file name.
  package private(set) var files: [(name: String, bytes: [UInt8])] = []
  private var steps: [JSONValue] = []
  private var told: Set<FakeDelivery> = []
  private var last: Instant
  private var isDeleted = false
  /// What happened at our own server meanwhile; the store knows nothing of it.
  package private(set) var decisions: [(decision: Decision, at: Instant)] = []

  package enum Decision: Hashable, Sendable {
    /// By the original transaction's id.
    case claim(subscription: String)
    case deleteAccount
  }

  /// What the account has after a step.
  package struct Expectation: Sendable {
    let plan: String
    let reason: String
    /// Of the account's subscription, of several the one with the lowest id.
    let label: String?
    /// Whether anything is said of the label at all.
    var tellsLabel = true

    package static func premium(_ reason: String = "subscribed", _ label: String = "active")
      -> Self
    {
      Self(plan: "premium", reason: reason, label: label)
    }
    package static func plus(_ reason: String = "subscribed", _ label: String = "active") -> Self {
      Self(plan: "plus", reason: reason, label: label)
    }
    package static func free(_ reason: String, _ label: String) -> Self {
      Self(plan: "free", reason: reason, label: label)
    }
    /// Nothing yet.
    package static let nobody = Self(plan: "free", reason: "never_subscribed", label: nil)
    /// No access; what the subscription is called is left open.
    package static let nothing = Self(
      plan: "free", reason: "never_subscribed", label: nil, tellsLabel: false)
  }

  package init(name: String, start: Instant, signer: AppleSigner, settings: FakeAppStore.Settings) {
    let digest = SHA256.hash(Array("apple/\(name)".utf8))
    clock = FakeClock(start)
    last = start - .hours(1)
    var settings = settings
    settings.seed = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    store = FakeAppStore(clock: clock, signer: signer, settings: settings)
    var stripeSettings = StripeSettings(.basil)
    stripeSettings.seed = "apple/\(name)"
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
  /// What the store tells meanwhile waits for `deliver`.
  package func time(_ moment: Instant, _ expected: Expectation) {
    step(at: moment, [], expected)
  }

  /// Everything told and not yet delivered arrives, each with its own expectation.
  package func deliver(_ expected: Expectation...) {
    let news = news
    precondition(news.count == expected.count, "\(news.count) deliveries wait: \(names(news))")
    for (delivery, expected) in zip(news, expected) {
      told.insert(delivery)
      arrive(delivery, expected)
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

  private func names(_ deliveries: [FakeDelivery]) -> [String] { deliveries.map { name(of: $0) } }

  private func name(of delivery: FakeDelivery) -> String {
    delivery.provider == "apple" ? store.type(of: delivery) : stripe.type(of: delivery)
  }

  /// The same notification once more: the store did not see our answer.
  package func repeatLast(_ expected: Expectation) {
    guard let delivery = store.deliveries.last(where: { told.contains($0) }) else { return }
    arrive(delivery, expected, answer: "duplicate")
  }

  /// The customer's app posts the latest transaction of a subscription to our server.
  package func claim(_ subscription: String, _ expected: Expectation) {
    let file = "\(number)-transaction.jws"
    files.append((file, Array(store.signedTransaction(for: subscription).utf8)))
    step(
      at: clock.now + .seconds(3), [.init("claim", .string(file))], expected,
      deciding: .claim(subscription: subscription))
  }

  package func deleteAccount() {
    isDeleted = true
    step(
      at: clock.now + .seconds(5), [.init("delete_account", true)], .nobody,
      deciding: .deleteAccount)
  }

  private func arrive(
    _ delivery: FakeDelivery, _ expected: Expectation, answer: String? = nil
  ) {
    let moment = Self.ceiling(max(delivery.emitted + .seconds(2), last + .seconds(1), clock.now))
    let request =
      delivery.provider == "apple"
      ? store.request(for: delivery, at: moment)
      : Self.complete(stripe.request(for: delivery, at: moment))
    let file = "\(number)-\(name(of: delivery)).http"
    files.append((file, request.bytes))
    var members = [JSONValue.Member("deliver", .string(file))]
    let isSandbox = delivery.provider == "apple" && store.settings.environment == .sandbox
    if let answer = answer ?? (isSandbox ? "other_mode" : nil) {
      members.append(.init("answer", .string(answer)))
    }
    step(at: moment, members, expected)
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
    deciding decision: Decision? = nil
  ) {
    let at = Self.ceiling(moment)
    precondition(last <= at, "steps are in order")
    last = at
    clock.set(max(clock.now, at))
    if let decision { decisions.append((decision, at)) }
    steps.append(
      .object(
        members + [
          .init("at", .string(at.description)),
          .init("expect", isDeleted ? .object([]) : Self.json(expected)),
        ]))
  }

  private static func json(_ expected: Expectation) -> JSONValue {
    .apple([
      ("cap", .integer(GoogleTelling.caps[expected.plan]!)), ("plan", .string(expected.plan)),
      ("reason", .string(expected.reason)),
      ("label", expected.tellsLabel ? expected.label.map { .string($0) } ?? .null : nil),
    ])
  }

  private static func ceiling(_ moment: Instant) -> Instant {
    Instant(seconds: (moment + .milliseconds(999)).seconds)
  }

  // MARK: the file

  /// `story.json`, a line for each step.
  package func storyFile(title: String) -> [UInt8] {
    let settings = store.settings
    let source =
      "Shape: Apple's documents on App Store Server Notifications V2 and its own library "
      + "app-store-server-library-python 3.1.1. Values: written by us."
    var members: [(String, JSONValue)] = [
      ("title", .string(title)), ("source", .string(source)),
      ("account", .string(account.description)), ("bundle_id", .string(settings.bundleID)),
      ("app_apple_id", .integer(settings.appAppleID)),
      ("products", .array(AppleProduct.all.map { .string($0.id) })),
    ]
    if !stripe.deliveries.isEmpty {
      let secret = String(decoding: stripe.secrets[0].exposed, as: UTF8.self)
      members.append(("stripe_secret", .string(secret)))
    }
    let head = members.map { "  \"\($0)\": \(Self.line($1)),\n" }.joined()
    let lines = steps.map { "    " + Self.line($0) }.joined(separator: ",\n")
    return Array("{\n\(head)  \"steps\": [\n\(lines)\n  ]\n}\n".utf8)
  }

  private static func line(_ value: JSONValue) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }
}
