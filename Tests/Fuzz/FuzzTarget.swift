import Apple
import Base
import Compression
import Crypto
import Glibc
import Google
import HTTPMessages
import JSON
import JWS
import ProviderAPI
import Stripe
import Subscriptions
import TestCertificates

/// What is fed with whatever bytes: it may refuse them, and must never crash, hang or leak.
enum FuzzTarget {
  static let all: [String: @Sendable ([UInt8]) -> Void] = [
    "apple": apple, "compressed": compressed, "json": json, "jws": jws, "oidc": oidc,
    "rtdn": rtdn, "stripe": stripe, "x509": x509,
  ]

  static let current: @Sendable ([UInt8]) -> Void = {
    let name = unsafe getenv("COFFER_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = all[name] else { return { @Sendable _ in } }
    return target
  }()

  private static let now = Instant(seconds: 1_780_000_000)

  // MARK: Stripe

  private static let secrets = WebhookSecrets([Secret("whsec_fuzz")])!
  private static let event = Array(#"{"object":"event"}"#.utf8)

  /// The `Stripe-Signature` header; and the input as a genuine event's body.
  private static func stripe(_ input: [UInt8]) {
    _ = try? secrets.verify(headers: [input], body: event, now: now)
    let time = String(now.seconds)
    let code = Hex.encode(
      HMACSHA256.code(key: Secret("whsec_fuzz"), Array(time.utf8), Array(".".utf8), input))
    let header = Array("t=\(time),v1=\(code)".utf8)
    if let delivery = try? secrets.verify(headers: [header], body: input, now: now) {
      _ = try? StripeEvent(delivery)
      _ = try? StripeThinEvent(delivery)
    }
  }

  // MARK: texts

  /// A frame, what one may hold, and a text that must come back.
  private static func compressed(_ input: [UInt8]) {
    let (compressor, byteCountMax) = (StripeStore().compressor, 1 << 20)
    _ = try? compressor.decompress(input, byteCountMax: byteCountMax)
    _ = try? UnfoldedText.fold([0] + input, byteCountMax: byteCountMax)
    let frame = compressor.compress(input)
    let text = try? compressor.decompress(frame, byteCountMax: input.count)
    precondition(text == input, "a text did not come back")
  }

  private static func json(_ input: [UInt8]) {
    guard let json = try? JSON.parse(input) else { return }
    visit(json, depth: 0)
  }

  private static func visit(_ json: JSON, depth: Int) {
    guard depth < 70 else { return }
    _ = (json.string, json.integer, json.bool, json.isNull, json.isObject, json.path)
    for item in json.array ?? [] { visit(item, depth: depth + 1) }
    for (_, value) in json.members ?? [] { visit(value, depth: depth + 1) }
    _ = try? json["a"]["b"].requireString()
  }

  private static func jws(_ input: [UInt8]) {
    guard let jws = try? CompactJWS(input) else { return }
    precondition(jws.signingInput.count < input.count)
  }

  // MARK: Apple

  private static let chain = AppleTestChain(notBefore: now - .days(9), notAfter: now + .days(9))
  private static let verifier = AppleVerifier(
    AppleTrust(roots: [chain.root.der], bundleID: "app.coffer", appAppleID: 7)!)

  /// Certificates as a header's `x5c` brings them: the input replaces leaf, intermediate or both.
  private static func x509(_ input: [UInt8]) {
    guard let choice = input.first else { return }
    let own = Base64.standard.encode(Array(input.dropFirst()))
    let x5c = chain.x5c
    let list = [choice & 1 == 0 ? own : x5c[0], choice & 2 == 0 ? own : x5c[1], x5c[2]]
    let payload: JSONValue = ["signedDate": .integer(now.milliseconds)]
    let text = CompactJWS.compact(
      header: ["alg": "ES256", "x5c": .array(list.map { .string($0) })], payload: payload,
      sign: { _ in [UInt8](repeating: 1, count: 64) })
    _ = try? verifier.verify(signedPayload: text, now: now)
  }

  /// What a genuine chain signed, whatever it is: a notification, or what is inside one.
  private static func apple(_ input: [UInt8]) {
    let text = chain.sign(input)
    for notification in [
      text, around(text, as: "signedTransactionInfo"),
      around(text, as: "signedRenewalInfo"),
    ] {
      if let verified = try? verifier.verify(signedPayload: notification, now: now) {
        _ = try? AppleNotification(verified)
      }
    }
    if let verified = try? verifier.verify(transaction: text, now: now) {
      _ = try? AppleTransactionReading(verified)
    }
  }

  private static func around(_ text: String, as name: String) -> String {
    let data: [JSONValue.Member] = [
      .init("bundleId", "app.coffer"), .init("appAppleId", 7), .init("environment", "Production"),
      .init(name, .string(text)), .init("status", 1),
    ]
    return chain.sign([
      "notificationType": "DID_RENEW", "notificationUUID": "u", "data": .object(data),
      "signedDate": .integer(now.milliseconds),
    ])
  }

  // MARK: Google

  private static let key = RSAPrivateKey()

  private struct Answer: ProviderTransport {
    let body: [UInt8]

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      APIReply(status: 200, headers: Headers([]), body: body, elapsed: .milliseconds(1))
    }
  }

  private static let keySet: [UInt8] = {
    let set: JSONValue = [
      "keys": [
        [
          "kty": "RSA", "kid": "k", "n": .string(Base64.url.encode(key.publicKey.modulus)),
          "e": .string(Base64.url.encode(key.publicKey.exponent)),
        ]
      ]
    ]
    return set.encoded()
  }()

  private static func gate(_ keySet: [UInt8], patience: Instant.Span) -> GoogleVerifier {
    GoogleVerifier(
      GoogleTrust(packages: ["app.coffer"], audience: "a", email: "e"),
      keys: PushKeys(
        url: "https://keys", transport: Answer(body: keySet), clock: .fixed(now),
        patience: patience))
  }

  private static let google = gate(keySet, patience: .seconds(10))
  private static let genuine =
    "Bearer "
    + CompactJWS.compact(
      header: ["alg": "RS256", "kid": "k"],
      payload: [
        "iss": "accounts.google.com", "aud": "a", "email": "e", "email_verified": true,
        "iat": .integer(now.seconds), "exp": .integer(now.seconds + 3600),
      ] as JSONValue, sign: key.signature)

  /// The token, and the input as a key set.
  private static func oidc(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    prove("Bearer " + text, google)
    prove(genuine, gate(input, patience: .seconds(0)))
  }

  /// To its end, though the keys must be read first; nil where the token is refused.
  @discardableResult
  private static func prove(_ authorization: String, _ verifier: GoogleVerifier) -> PushSender? {
    switch try? verifier.prove(authorization: authorization, now: now) {
    case .proven(let sender): return sender
    case .waiting(let start):
      let answer = Locked<Result<PushSender, GoogleRefusal>?>(nil)
      start { result in answer.signal { $0 = result } }
      return try? answer.wait { $0 }?.get()
    case nil: return nil
    }
  }

  /// The envelope, and the input as the notification inside one.
  private static func rtdn(_ input: [UInt8]) {
    read(input)
    let envelope: JSONValue = [
      "message": ["messageId": "1", "data": .string(Base64.standard.encode(input))]
    ]
    read(envelope.encoded())
  }

  private static func read(_ body: [UInt8]) {
    guard let sender = prove(genuine, google) else { preconditionFailure("the token is genuine") }
    _ = try? GoogleNotification(sender.push(body))
  }
}
