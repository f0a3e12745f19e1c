import Apple
import Base
import Crypto
import HTTPMessages
import JSON
import JWS
import Stores
import Stripe
import Tiers

extension WebhookCost.Sample {
  private static let stripeCount = 12_800
  private static let appleCount = 6400

  private static func head(_ store: String, _ fields: [(String, String)]) -> RequestHead {
    RequestHead(
      method: "POST", target: "/webhooks/\(store)", headers: Headers(fields), authority: "bench")
  }

  /// The events are of test mode.
  static func stripe(
    _ events: StripeEvents, secret: Secret
  ) throws(BenchError) -> WebhookCost.Sample {
    guard let secrets = WebhookSecrets([secret]) else { throw .command("an empty secret") }
    let now = Instant.now
    let all = (0..<stripeCount).map { events.event($0, now: now) }
    let verify = { (index: Int) in
      _ = try secrets.verify(
        headers: [Array(all[index].signature.utf8)], body: all[index].body, now: now)
    }
    return WebhookCost.Sample(
      store: StripeStore(secrets: secrets), title: "Stripe", environment: .sandbox,
      requests: all.map { (head("stripe", [("stripe-signature", $0.signature)]), $0.body) },
      verify: verify,
      verifyAndParse: { index in
        try verify(index)
        _ = try JSON.parse(all[index].body)
      })
  }

  static func apple(_ notifications: AppleNotifications) throws(BenchError) -> WebhookCost.Sample {
    guard
      let trust = AppleTrust(
        roots: [notifications.root], bundleID: AppleNotifications.bundleID,
        appAppleID: AppleNotifications.appID)
    else { throw .command("a root that is none") }
    let bodies = (0..<appleCount).map { notifications.body($0) }
    var signed: [[JWSSegments]] = []
    do {
      signed = try bodies.map(segments)
    } catch {
      throw .command("a notification that cannot be read: \(error)")
    }
    let (key, verifier, now) = (notifications.key.publicKey, AppleVerifier(trust), Instant.now)
    return WebhookCost.Sample(
      store: AppleStore(verifier: AppleVerifier(trust)), title: "App Store", environment: .live,
      requests: bodies.map { (head("apple", []), $0) },
      verify: { [signed] index in
        for part in signed[index]
        where !key.isValid(signature: part.signature, for: part.signingInput) {
          throw BenchError.command("a signature is wrong")
        }
      }, verifyAndParse: { index in _ = try verifier.verify(body: bodies[index], now: now) })
  }

  /// The three JWS of a notification.
  private static func segments(_ body: [UInt8]) throws -> [JWSSegments] {
    let outer = try JWSSegments(Array(try JSON.parse(body)["signedPayload"].requireString().utf8))
    let data = try JSON.parse(outer.payload)["data"]
    return [outer]
      + (try ["signedTransactionInfo", "signedRenewalInfo"].map {
        try JWSSegments(Array(try data[$0].requireString().utf8))
      })
  }
}
