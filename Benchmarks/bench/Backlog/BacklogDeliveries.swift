import Base
import Crypto

/// The deliveries of a backlog as requests, all prepared before the clock starts.
struct BacklogDeliveries {
  /// Stripe's signatures are valid for five minutes in both directions, so one from four minutes ahead is
  /// valid for nine.
  private static let signedAhead = Instant.Span.minutes(4)

  let stripeSecret = "whsec_" + Hex.encode(Random.bytes(24))
  let apple: AppleNotifications
  let google: GoogleNotifications

  init(now: Instant) {
    apple = AppleNotifications(now: now)
    google = GoogleNotifications(now: now)
  }

  func requests(_ plan: BacklogPlan) throws(BenchError) -> Requests {
    let stripe = try StripeEvents(
      directory: WebhookBench.files, secret: Secret(stripeSecret), seed: 1, isLive: true)
    let signed = Instant.now + Self.signedAhead
    var requests = Requests()
    requests.reserve(plan.deliveries.count, byteCountEach: 8000)
    for delivery in plan.deliveries {
      let (index, renewal) = (delivery.index, plan.monthEnd(delivery.index))
      switch BacklogPlan.store(index) {
      case .stripe:
        stripe.append(
          stripe.event(
            template: delivery.part, order: 2 * index + delivery.part, serial: index, at: renewal,
            signed: signed),
          to: &requests)
      case .apple:
        apple.append(
          apple.body(index, at: renewal), from: "17.58.0.\(index % 16 + 1)", to: &requests)
      case .google: google.append(google.body(index, at: renewal), to: &requests)
      }
    }
    return requests
  }
}
