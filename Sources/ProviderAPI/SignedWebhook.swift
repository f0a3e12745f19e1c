package import Base
package import Configuration
import Crypto

extension WebhookReceiver {
  /// One attempt to send a webhook: with its id and body, signed for the attempt's time by each secret.
  package func request(_ id: String, _ body: String, at now: Instant) -> APIRequest {
    let seconds = String(now.milliseconds / 1000)
    let signatures = secrets.map { secret in
      "v1,"
        + Base64.standard.encode(
          HMACSHA256.code(key: secret, Array("\(id).\(seconds).\(body)".utf8)))
    }
    return APIRequest(
      "POST", url,
      headers: [
        ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", seconds),
        ("webhook-signature", signatures.joined(separator: " ")),
      ], body: Array(body.utf8))
  }
}
