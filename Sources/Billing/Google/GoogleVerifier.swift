package import Base
internal import Crypto
internal import JSON
internal import JWS

/// Whom to believe, and about which app.
package struct GoogleTrust: Sendable {
  package let package: String
  package let audience: String
  package let email: String

  package init(package: String, audience: String, email: String) {
    self.package = package
    self.audience = audience
    self.email = email
  }
}

/// A push that our own Pub/Sub subscription made; only `GoogleVerifier` makes one.
///
/// It does not prove that a message is new: Pub/Sub delivers each at least once.
package struct VerifiedPush: Sendable {
  package let body: [UInt8]
  package let receivedAt: Instant
  let package: String

  fileprivate init(body: [UInt8], receivedAt: Instant, package: String) {
    self.body = body
    self.receivedAt = receivedAt
    self.package = package
  }
}

/// Proves by its OpenID Connect token that a push comes from our own Pub/Sub subscription.
///
/// Everybody can have Google sign a token for any audience, so the service account's address is
/// what counts. Any thread may call it.
/// https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
package final class GoogleVerifier: Sendable {
  /// A notification has less than two thousand bytes.
  package static let bodyByteCountMax = 64 * 1024
  private static let tokenByteCountMax = 8 * 1024
  /// How far Google's clock may differ from ours.
  package static let leeway = Instant.Span.seconds(60)
  private static let issuers: Set = ["https://accounts.google.com", "accounts.google.com"]
  /// Pub/Sub uses a token for an hour of deliveries.
  private static let knownCountMax = 64

  private let trust: GoogleTrust
  private let keys: PushKeys
  /// Digests of tokens that were proven, and until when they hold.
  private let known = Locked<[[UInt8]: Instant]>([:])

  package init(_ trust: GoogleTrust, keys: PushKeys) {
    self.trust = trust
    self.keys = keys
  }

  /// `authorization` is the header's value.
  package func verify(
    authorization: String?, body: [UInt8], now: Instant
  ) throws(GoogleRefusal) -> VerifiedPush {
    guard let authorization, authorization.prefix(7).lowercased() == "bearer " else {
      throw .missingToken
    }
    let token = Array(authorization.dropFirst(7).utf8)
    guard token.count <= Self.tokenByteCountMax else { throw .tooLong }
    let digest = SHA256.hash(token)
    let until = known.withLock { $0[digest] }
    if let until {
      guard now < until else { throw .expired }
    } else {
      let until = try authenticate(token, now: now)
      remember(digest, until: until, now: now)
    }
    return VerifiedPush(body: body, receivedAt: now, package: trust.package)
  }

  /// Until when the token holds.
  private func authenticate(_ token: [UInt8], now: Instant) throws(GoogleRefusal) -> Instant {
    let jws: CompactJWS
    do { jws = try CompactJWS(token, byteCountMax: Self.tokenByteCountMax) } catch {
      throw GoogleRefusal(error)
    }
    guard jws.algorithm == "RS256" else { throw .algorithm }
    guard let claims = try? JSON.parse(jws.payload), claims.isObject else { throw .malformed }
    // What no signature could make good is refused before a key is looked for.
    let until = try judge(claims, now: now)
    guard let id = jws.header["kid"].string, isID(id) else { throw .unknownKey }
    guard try keys.key(id).isValid(signature: jws.signature, for: jws.signingInput) else {
      throw .badSignature
    }
    return until
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

  /// Byte for byte: equal strings of Swift's may differ in their characters.
  private static func isExactly(_ text: String, _ claim: JSON) -> Bool {
    claim.string?.utf8.elementsEqual(text.utf8) ?? false
  }

  private static let times: ClosedRange<Int64> = 0...253_402_300_799

  private func remember(_ digest: [UInt8], until: Instant, now: Instant) {
    known.withLock { known in
      if known.count >= Self.knownCountMax {
        known = known.filter { now < $0.value }
        if known.count >= Self.knownCountMax { known = [:] }
      }
      known[digest] = until
    }
  }
}
