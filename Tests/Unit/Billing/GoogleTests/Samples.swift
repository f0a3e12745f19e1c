import Base
import Crypto
import Google
import HTTPMessages
import JSON
import JWS
import ProviderAPI

/// One push subscription, one issuer key and one moment, shared by the tests.
enum Sample {
  static let now = Instant(seconds: 1_780_000_000)
  static let audience = "https://billing.coffer.example/webhooks/google"
  static let email = "push@coffer.iam.gserviceaccount.com"
  static let package = "app.coffer"
  static let key = RSAPrivateKey()
  static let otherKey = RSAPrivateKey()
  static let body = Array(#"{"message":{"data":"e30=","messageId":"1"}}"#.utf8)

  static func keySet(_ keys: [(id: String, key: RSAPrivateKey)] = [("k1", key)]) -> [UInt8] {
    let all = keys.map { id, key -> JSONValue in
      [
        "kty": "RSA", "alg": "RS256", "use": "sig", "kid": .string(id),
        "n": .string(Base64.url.encode(key.publicKey.modulus)),
        "e": .string(Base64.url.encode(key.publicKey.exponent)),
      ]
    }
    let set: JSONValue = ["keys": .array(all)]
    return set.encoded()
  }

  typealias Changes = [String: JSONValue?]

  static func claims(_ changes: Changes = [:]) -> JSONValue {
    object(
      [
        ("iss", "https://accounts.google.com"), ("aud", .string(audience)),
        ("email", .string(email)), ("email_verified", true), ("sub", "110"), ("azp", "110"),
        ("iat", .integer(now.seconds - 10)), ("exp", .integer(now.seconds + 3590)),
      ], changes)
  }

  static func header(_ changes: Changes = [:]) -> JSONValue {
    object([("alg", "RS256"), ("kid", "k1"), ("typ", "JWT")], changes)
  }

  private static func object(_ members: [(String, JSONValue)], _ changes: Changes) -> JSONValue {
    var all = members.compactMap { name, value -> JSONValue.Member? in
      guard let change = changes[name] else { return .init(name, value) }
      return change.map { .init(name, $0) }
    }
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
      if let value, !members.contains(where: { $0.0 == name }) { all.append(.init(name, value)) }
    }
    return .object(all)
  }

  /// The `Authorization` value with a token of these claims.
  static func bearer(
    _ claims: JSONValue = claims(), header: JSONValue = header(),
    sign: ([UInt8]) -> [UInt8] = key.signature
  ) -> String {
    "Bearer " + CompactJWS.compact(header: header, payload: claims, sign: sign)
  }
}

/// An endpoint that gives the answer set by the test, and counts requests.
final class Endpoint: ProviderTransport {
  private let state: Locked<State>

  private struct State {
    var answer: (status: Int, headers: [(String, String)], body: [UInt8])?
    var count = 0
    var meanwhile: (@Sendable () -> Void)?
  }

  init(_ body: [UInt8] = Sample.keySet(), headers: [(String, String)] = []) {
    state = Locked(State(answer: (200, headers, body)))
  }

  /// Sets the answer; nil: no answer at all.
  func answer(_ body: [UInt8]?, status: Int = 200, headers: [(String, String)] = []) {
    state.withLock { $0.answer = body.map { (status, headers, $0) } }
  }

  /// Sets what happens while a request is under way.
  func meanwhile(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.meanwhile = body } }

  var requestCount: Int { state.withLock { $0.count } }

  /// Whether that many requests arrive within 10 s; another thread sends them.
  func isAsked(_ count: Int) -> Bool {
    state.wait(until: .now() + .seconds(10)) { $0.count >= count ? true : nil } ?? false
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let (answer, meanwhile) = state.signal { state in
      state.count += 1
      return (state.answer, state.meanwhile)
    }
    meanwhile?()
    guard let answer else { throw .transient("timeout", retryAfter: nil) }
    return APIReply(
      status: answer.status, headers: Headers(answer.headers), body: answer.body,
      elapsed: .milliseconds(1))
  }
}

/// A verifier with its own key set and clock.
final class Gate: Sendable {
  let endpoint: Endpoint
  let verifier: GoogleVerifier
  private let moment: Locked<Instant>

  init(
    _ endpoint: Endpoint = Endpoint(),
    trust: GoogleTrust = GoogleTrust(
      packages: [Sample.package], audience: Sample.audience, email: Sample.email),
    patience: Instant.Span = .seconds(10)
  ) {
    let moment = Locked(Sample.now)
    self.moment = moment
    self.endpoint = endpoint
    verifier = GoogleVerifier(
      trust,
      keys: PushKeys(
        url: "https://keys.example/certs", transport: endpoint,
        clock: Clock { moment.withLock { $0 } }, patience: patience))
  }

  var now: Instant {
    get { moment.withLock { $0 } }
    set { moment.withLock { $0 = newValue } }
  }

  /// Nil if the push is accepted.
  func refusal(_ authorization: String?) -> GoogleRefusal? {
    do throws(GoogleRefusal) {
      _ = try sender(authorization)
      return nil
    } catch {
      return error
    }
  }

  /// Verifies a push, and waits for the key if it must be read.
  func sender(_ authorization: String?) throws(GoogleRefusal) -> PushSender {
    switch try verifier.prove(authorization: authorization, now: now) {
    case .proven(let sender): return sender
    case .waiting(let start):
      let answer = Locked<Result<PushSender, GoogleRefusal>?>(nil)
      start { result in answer.signal { $0 = result } }
      guard let result = answer.wait(until: .now() + .seconds(20), { $0 }) else {
        preconditionFailure("a push was never answered")
      }
      return try result.get()
    }
  }
}
