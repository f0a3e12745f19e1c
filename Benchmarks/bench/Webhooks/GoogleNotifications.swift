import Base
import Crypto
import JSON
import JWS

/// Pushes of real-time developer notifications, each about a different purchase.
///
/// Pub/Sub signs one token for an hour of pushes, so all have the same.
struct GoogleNotifications {
  static let productID = "premium"
  static let package = "com.example.coffer"
  static let audience = "https://billing.example.com/webhooks/google"
  static let email = "push@example.iam.gserviceaccount.com"
  private static let keyID = "8e1f0c2d4b6a79358e1f0c2d4b6a79358e1f0c2d"

  private let key = RSAPrivateKey()
  private let now: Instant
  private let token: String

  init(now: Instant) {
    self.now = now
    token = CompactJWS.compact(
      header: ["alg": "RS256", "kid": .string(Self.keyID), "typ": "JWT"],
      payload: [
        "aud": .string(Self.audience), "azp": "113774264463038321964",
        "email": .string(Self.email), "email_verified": true,
        "exp": .integer(now.seconds + 3600), "iat": .integer(now.seconds),
        "iss": "https://accounts.google.com", "sub": "113774264463038321964",
      ] as JSONValue, sign: key.signature)
  }

  /// The answer of Google's address of keys.
  var keySet: JSONValue {
    let publicKey = key.publicKey
    return [
      "keys": [
        [
          "alg": "RS256", "e": .string(Base64.url.encode(publicKey.exponent)),
          "kid": .string(Self.keyID), "kty": "RSA",
          "n": .string(Base64.url.encode(publicKey.modulus)), "use": "sig",
        ]
      ]
    ]
  }

  /// The key file of a service account whose tokens come from `tokenURL`.
  func serviceAccount(tokenURL: String) -> JSONValue {
    [
      "type": "service_account", "project_id": "bench", "private_key_id": .string(Self.keyID),
      "private_key": .string(String(decoding: key.pem.exposed, as: UTF8.self)),
      "client_email": "reader@example.iam.gserviceaccount.com", "token_uri": .string(tokenURL),
    ]
  }

  func requests(_ count: Int) -> Requests {
    var requests = Requests()
    requests.reserve(count, byteCountEach: body(0).count + token.utf8.count + 400)
    for index in 0..<count { append(body(index), to: &requests) }
    return requests
  }

  func append(_ body: [UInt8], to requests: inout Requests) {
    requests.append(
      "POST", "/webhooks/google", host: "127.0.0.1",
      fields: [
        (
          "User-Agent",
          "APIs-Google; (+https://developers.google.com/webmasters/APIs-Google.html)"
        ),
        ("Accept", "application/json"), ("Content-Type", "application/json"),
        ("From", "noreply@google.com"), ("Authorization", "Bearer \(token)"),
      ], body: body)
  }

  var bodyByteCount: Int { body(0).count }

  /// As long as Google's; the end identifies the purchase.
  static func purchaseToken(_ index: Int) -> String {
    let digest = Base64.url.encode(SHA256.hash(Array("\(index)".utf8)))
    return "\(digest.prefix(24)).AO-J1O\(digest)\(digest)\(digest).\(index)"
  }

  func body(_ index: Int) -> [UInt8] { body(index, at: now) }

  /// The notification about a purchase that was renewed at that moment.
  func body(_ index: Int, at moment: Instant) -> [UInt8] {
    let data: JSONValue = [
      "version": "1.0", "packageName": .string(Self.package),
      "eventTimeMillis": .string("\(moment.milliseconds)"),
      "subscriptionNotification": [
        "version": "1.0", "notificationType": 2,
        "purchaseToken": .string(Self.purchaseToken(index)),
        "subscriptionId": .string(Self.productID),
      ],
    ]
    let id = "\(1_000_000_000_000_000 + index)"
    let time = moment.description
    let envelope: JSONValue = [
      "message": [
        "data": .string(Base64.standard.encode(data.encoded())), "messageId": .string(id),
        "message_id": .string(id), "publishTime": .string(time), "publish_time": .string(time),
      ],
      "subscription": "projects/example/subscriptions/play-billing",
    ]
    return envelope.encoded()
  }
}
