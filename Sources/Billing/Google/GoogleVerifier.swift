package import Base
import Crypto
import JSON
import JWS
import Stores

/// The sender to trust, and the apps to accept.
package struct GoogleTrust: Sendable {
  let packages: [String]
  package let audience: String
  package let email: String

  package init(packages: [String], audience: String, email: String) {
    self.packages = packages
    self.audience = audience
    self.email = email
  }
}

/// Our own Pub/Sub subscription, proven by a request's headers; only `GoogleVerifier` makes one.
package struct PushSender: Sendable {
  fileprivate let packages: [String]
  /// The id of the key that signed its token.
  package let keyID: String

  /// The push with that body. The token does not cover the body: anyone who holds the token may send any.
  package func push(_ body: [UInt8]) -> VerifiedPush {
    VerifiedPush(body: body, packages: packages)
  }
}

/// A push made by our own Pub/Sub subscription.
///
/// The message is not proven to be new: Pub/Sub delivers each at least once.
package struct VerifiedPush: Sendable {
  package let body: [UInt8]
  /// The names of our apps' packages, the oldest first.
  let packages: [String]

  fileprivate init(body: [UInt8], packages: [String]) {
    self.body = body
    self.packages = packages
  }

  /// A push that was verified on arrival and stored since.
  ///
  /// Warning: proves nothing about any other bytes.
  init(uncheckedBody body: [UInt8], packages: [String]) {
    self.init(body: body, packages: packages)
  }
}

/// What the headers of a push prove, or will prove once the key that signed its token has been read.
package enum PushProof: Sendable {
  case proven(PushSender)
  /// Takes a callback for the result. It is called once, on any thread.
  case waiting(
    @Sendable (@escaping @Sendable (Result<PushSender, GoogleRefusal>) -> Void) -> Void)
}

/// Verifies by its OpenID Connect token that a push comes from our own Pub/Sub subscription.
///
/// Anyone can get a token from Google for any audience, so the service account's address is decisive. Any
/// thread may call it. https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
package final class GoogleVerifier: Sendable {
  /// A notification has less than two thousand bytes.
  package static let bodyByteCountMax = 64 * 1024
  private static let tokenByteCountMax = 8 * 1024
  /// How far Google's clock may differ from ours.
  package static let leeway = Instant.Span.seconds(60)
  private static let issuers: Set = ["https://accounts.google.com", "accounts.google.com"]
  /// Pub/Sub uses one token for an hour of deliveries.
  private static let knownCountMax = 64

  private let trust: GoogleTrust
  private let keys: PushKeys
  /// Digests of verified tokens, with their expiry and the key that signed them.
  private let known = Locked<[[UInt8]: (until: Instant, keyID: String)]>([:])

  package init(_ trust: GoogleTrust, keys: PushKeys) {
    self.trust = trust
    self.keys = keys
  }

  /// `authorization` is the header's value. Never blocks. A token that no key could make valid is
  /// refused at once, and so is one whose key was recently missing from Google's set.
  package func prove(
    authorization: String?, now: Instant
  ) throws(GoogleRefusal) -> PushProof {
    guard let authorization, authorization.prefix(7).lowercased() == "bearer " else {
      throw .missingToken
    }
    let token = Array(authorization.dropFirst(7).utf8)
    guard token.count <= Self.tokenByteCountMax else { throw .tooLong }
    let digest = SHA256.hash(token)
    if let known = known.withLock({ $0[digest] }) {
      guard now < known.until else { throw .expired }
      return .proven(PushSender(packages: trust.packages, keyID: known.keyID))
    }
    let (jws, id, until) = try unproven(token, now: now)
    let judge = { @Sendable [self] (key: RSAPublicKey) throws(GoogleRefusal) -> PushSender in
      guard key.isValid(signature: jws.signature, for: jws.signingInput) else {
        throw .badSignature
      }
      remember(digest, until: until, keyID: id, now: now)
      return PushSender(packages: trust.packages, keyID: id)
    }
    let answer = PushAnswer()
    let lookup = keys.key(id) { result in
      answer.give(result.flatMap { key in Result { () throws(GoogleRefusal) in try judge(key) } })
    }
    switch lookup {
    case .known(let key): return .proven(try judge(key))
    case .refused(let refusal): throw refusal
    case .waits: return .waiting { done in answer.take(done) }
    }
  }

  /// Checks a token as far as possible without its key. Returns its parts, the key's id, and its expiry.
  private func unproven(
    _ token: [UInt8], now: Instant
  ) throws(GoogleRefusal) -> (jws: CompactJWS, keyID: String, until: Instant) {
    let jws: CompactJWS
    do { jws = try CompactJWS(token, byteCountMax: Self.tokenByteCountMax) } catch {
      throw GoogleRefusal(error)
    }
    guard jws.algorithm == "RS256" else { throw .algorithm }
    guard let claims = try? JSON.parseForeign(jws.payload), claims.isObject else {
      throw .malformed
    }
    // Refused before a key is looked up, because no signature could make it valid.
    let until = try judge(claims, now: now)
    guard let id = jws.header["kid"].id else { throw .unknownKey }
    return (jws, id, until)
  }

  private func judge(_ claims: JSON, now: Instant) throws(GoogleRefusal) -> Instant {
    guard let issuer = claims["iss"].string, Self.issuers.contains(issuer) else {
      throw .wrongIssuer
    }
    guard Self.isExactly(trust.audience, claims["aud"]) else { throw .wrongAudience }
    guard Self.isExactly(trust.email, claims["email"]) else { throw .wrongEmail }
    guard claims["email_verified"].bool == true else { throw .emailUnverified }
    guard let expiry = claims["exp"].integer, let issued = claims["iat"].integer,
      Self.times.contains(expiry), Self.times.contains(issued)
    else { throw .malformed }
    let until = Instant(seconds: expiry) + Self.leeway
    guard now < until else { throw .expired }
    guard Instant(seconds: issued) <= now + Self.leeway else { throw .notYetValid }
    return until
  }

  /// Compares bytes, because equal Swift strings may differ in their characters.
  private static func isExactly(_ text: String, _ claim: JSON) -> Bool {
    claim.string?.utf8.elementsEqual(text.utf8) ?? false
  }

  private static let times: ClosedRange<Int64> = 0...253_402_300_799

  private func remember(_ digest: [UInt8], until: Instant, keyID: String, now: Instant) {
    known.withLock { known in
      if known.count >= Self.knownCountMax {
        known = known.filter { now < $0.value.until }
        if known.count >= Self.knownCountMax { known = [:] }
      }
      known[digest] = (until, keyID)
    }
  }
}

/// Connects an answer and its receiver, whichever comes first.
private final class PushAnswer: Sendable {
  private struct State: Sendable {
    var value: Result<PushSender, GoogleRefusal>?
    var done: (@Sendable (Result<PushSender, GoogleRefusal>) -> Void)?
  }

  private let state = Locked(State())

  func give(_ value: Result<PushSender, GoogleRefusal>) {
    let done = state.withLock { state in
      state.value = value
      return state.done
    }
    done?(value)
  }

  func take(_ done: @escaping @Sendable (Result<PushSender, GoogleRefusal>) -> Void) {
    let value = state.withLock { state in
      state.done = done
      return state.value
    }
    if let value { done(value) }
  }
}
