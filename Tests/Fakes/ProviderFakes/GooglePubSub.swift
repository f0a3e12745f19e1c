import Base
import JSON
import SeededRandom

/// A Pub/Sub topic with one push subscription, which keeps every message until it is acknowledged.
struct GooglePubSub: Sendable {
  let subscription: String
  /// After this many refused attempts a message goes to the dead-letter topic; nil: there is none.
  let attemptsMax: Int?
  private(set) var messages: [String: Message] = [:]
  private(set) var ids: [String] = []
  private var random: SeededGenerator

  struct Message: Sendable {
    let published: Instant
    let data: [UInt8]
    /// The notification's type, for people.
    let name: String
    var attributes: [JSONValue.Member] = []
    var state = State.outstanding
    var attempts = 0
    var nextAttempt: Instant
  }

  enum State: Sendable {
    case outstanding, acknowledged, dead
    /// Not accepted within the retention period.
    case dropped
  }

  private static let retention = Instant.Span.days(7)

  init(subscription: String, attemptsMax: Int?, seed: UInt64) {
    self.subscription = subscription
    self.attemptsMax = attemptsMax
    random = SeededGenerator(seed: seed)
  }

  @discardableResult
  mutating func publish(_ message: Message) -> String {
    // Real ids have 16 or 17 digits and no order.
    let id = String(10_000_000_000_000_000 + random.next() % 9_000_000_000_000_000)
    messages[id] = message
    ids.append(id)
    return id
  }

  mutating func drop(before now: Instant) {
    for (id, message) in messages
    where message.state == .outstanding && message.published + Self.retention <= now {
      messages[id]!.state = .dropped
    }
  }

  /// The messages to deliver now, oldest first.
  func due(at now: Instant) -> [String] {
    ids.filter { id in
      let message = messages[id]!
      return message.state == .outstanding && message.nextAttempt <= now
    }
  }

  mutating func acknowledge(_ id: String) {
    if messages[id]?.state == .outstanding { messages[id]!.state = .acknowledged }
  }

  /// Retries after 10 s, then twice as long each time, up to 10 minutes: the default policy.
  mutating func refuse(_ id: String, at now: Instant) {
    guard var message = messages[id], message.state == .outstanding else { return }
    message.attempts += 1
    message.nextAttempt = now + .seconds(min(600, 10 << Int64(min(message.attempts - 1, 10))))
    if let attemptsMax, message.attempts >= attemptsMax { message.state = .dead }
    messages[id] = message
  }

  /// Publishes the messages of the dead-letter topic again: new messages with the same data.
  mutating func redrive(at now: Instant) -> [String] {
    let dead = ids.filter { messages[$0]!.state == .dead }
    return dead.map { id in
      messages[id]!.state = .acknowledged
      let old = messages[id]!
      let name = subscription.split(separator: "/").last.map(String.init) ?? subscription
      return publish(
        Message(
          published: now, data: old.data, name: old.name,
          attributes: [
            .init("CloudPubSubDeadLetterSourceDeliveryCount", .string(String(old.attempts))),
            .init("CloudPubSubDeadLetterSourceSubscription", .string(name)),
            .init(
              "CloudPubSubDeadLetterSourceTopicPublishTime", .string(old.published.description)),
          ], nextAttempt: now))
    }
  }

  /// The wrapped push envelope.
  func envelope(_ id: String) -> [UInt8] {
    let message = messages[id]!
    let (data, time) = (Base64.standard.encode(message.data), message.published.description)
    var members: [JSONValue.Member] = []
    if attemptsMax != nil {
      members.append(.init("deliveryAttempt", .integer(Int64(message.attempts + 1))))
    }
    let inner: [JSONValue.Member] =
      (message.attributes.isEmpty ? [] : [.init("attributes", .object(message.attributes))])
      + [
        .init("data", .string(data)), .init("messageId", .string(id)),
        .init("message_id", .string(id)), .init("publishTime", .string(time)),
        .init("publish_time", .string(time)),
      ]
    members.append(.init("message", .object(inner)))
    members.append(.init("subscription", .string(subscription)))
    return JSONValue.object(members).encoded()
  }
}
