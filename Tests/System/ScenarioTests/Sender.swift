import Base
import Crypto
import HTTPClient
import StripeSamples
import TestDevices

/// Stripe, delivering distinct events as fast as they are accepted.
final class Sender: Sendable {
  private let url: String
  private let client = HTTPClient()
  private let state = Locked(State())

  private struct State {
    var acknowledged: [SampleEvent] = []
    var lost: SampleEvent?
    var trouble: [String] = []
  }

  init(port: UInt16) { url = "http://127.0.0.1:\(port)/webhooks/stripe" }

  var acknowledged: [SampleEvent] { state.withLock { $0.acknowledged } }
  /// The event whose answer did not arrive.
  var lost: SampleEvent? { state.withLock { $0.lost } }
  /// Answers that are neither a success nor a lost connection.
  var trouble: [String] { state.withLock { $0.trouble } }

  func sendUntilLost() {
    while lost == nil, trouble.isEmpty { send(Self.freshEvent()) }
  }

  func send(times count: Int) {
    for _ in 0..<count { send(Self.freshEvent()) }
  }

  func send(_ event: SampleEvent) {
    do {
      let reply = try Balancer.repeated(\.status) { try deliver(event) }
      state.withLock { state in
        if reply.status == 200 {
          state.acknowledged.append(event)
        } else {
          state.trouble.append("\(reply.status) \(String(decoding: reply.body, as: UTF8.self))")
        }
      }
    } catch {
      state.withLock { $0.lost = event }
    }
  }

  /// Delivers a fresh event. Returns nil if it is acknowledged, otherwise the answer.
  func refusal() throws -> Answer? {
    let event = Self.freshEvent()
    let reply = try deliver(event)
    guard reply.status == 200 else {
      return Answer(status: reply.status, headers: reply.headers, body: reply.body)
    }
    state.withLock { $0.acknowledged.append(event) }
    return nil
  }

  func deliver(_ event: SampleEvent) throws -> HTTPClient.Reply {
    let body = event.body
    let signature = StripeSignature.header(body: body, at: Clock.system.now())
    return try client.send(
      "POST", url,
      headers: [("Stripe-Signature", signature), ("Content-Type", "application/json")],
      body: body, timeout: .seconds(30))
  }

  /// A subscription of an account that is not known.
  static func freshEvent() -> SampleEvent {
    let now = Clock.system.now()
    let tag = Random.identifier().description
    var subscription = SampleSubscription(from: now, to: now + .days(30))
    subscription.id = "sub_" + tag
    subscription.customer = "cus_" + tag
    subscription.account = Random.identifier().description
    return SampleEvent(
      id: "evt_" + tag, type: "customer.subscription.created", created: now,
      object: subscription.json(.basil))
  }
}

/// The header that proves the sender of a delivery (https://docs.stripe.com/webhooks/signature). It is made
/// here from the documentation, not by the code under test.
enum StripeSignature {
  static func header(body: [UInt8], at moment: Instant) -> String {
    let time = String(moment.seconds)
    let code = HMACSHA256.code(
      key: Installation.webhookSecret, Array(time.utf8), [UInt8(ascii: ".")], body)
    return "t=\(time),v1=\(Hex.encode(code))"
  }
}
