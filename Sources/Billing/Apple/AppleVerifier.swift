package import Base
import Crypto
import JSON
import JWS
import Tiers

/// Verifies that a delivery comes from the App Store and is about our app.
///
/// Any thread may call it. Certificates are judged at the time of signing, by the pinned roots alone, and
/// revocation is not checked (Apple's libraries call that offline verification).
package final class AppleVerifier: Sendable {
  /// How far the store's clock may be ahead of ours.
  package static let tolerance = Instant.Span.minutes(5)
  /// A notification has about ten thousand bytes.
  package static let signedByteCountMax = 256 * 1024
  private static let bodyByteCountMax = signedByteCountMax + 1024

  private let trust: AppleTrust
  private let chains: ChainCache

  package init(_ trust: AppleTrust) {
    self.trust = trust
    chains = ChainCache(trust)
  }

  /// The number of remembered chains, at most 32.
  package var chainCount: Int { chains.count }

  /// Verifies the body of a webhook: `{"signedPayload": …}`.
  package func verify(body: [UInt8], now: Instant) throws(AppleRefusal) -> VerifiedNotification {
    guard body.count <= Self.bodyByteCountMax else { throw .tooLong }
    if let text = Self.plainPayload(body) {
      do { return try notification(text, body: body, now: now) } catch {
        guard error == .malformed else { throw error }
      }
    }
    guard let json = try? JSON.parseForeign(body), let text = json["signedPayload"].utf8 else {
      throw .malformed
    }
    return try notification(text, body: body, now: now)
  }

  /// The signed payload in a body of exactly the form that the store writes; nil for any other body.
  ///
  /// If the text is a JWS, it contains nothing that is special in JSON, so a parser would return the same
  /// text. If it is not, only a parser can decide.
  private static func plainPayload(_ body: [UInt8]) -> [UInt8]? {
    guard body.count >= prefix.count + suffix.count, body.starts(with: prefix),
      body.suffix(suffix.count).elementsEqual(suffix)
    else { return nil }
    return Array(body[prefix.count..<(body.count - suffix.count)])
  }

  private static let prefix = Array(#"{"signedPayload":""#.utf8)
  private static let suffix = Array(#""}"#.utf8)

  /// Verifies a notification as listed by the history of notifications.
  package func verify(
    signedPayload text: String, now: Instant
  ) throws(AppleRefusal) -> VerifiedNotification {
    let body: JSONValue = ["signedPayload": .string(text)]
    return try notification(Array(text.utf8), body: body.encoded(), now: now)
  }

  /// Verifies one transaction, posted by a client or answered by the API.
  package func verify(
    transaction text: String, now: Instant
  ) throws(AppleRefusal) -> VerifiedPart {
    try verify(.transaction, text, now: now)
  }

  /// Verifies a part on its own. A renewal info names no app, but the subscription that it belongs to does.
  func verify(
    _ part: AppleRefusal.Part, _ text: String, now: Instant
  ) throws(AppleRefusal) -> VerifiedPart {
    guard case .success(let signed) = try prove(Array(text.utf8), now: now).signed else {
      throw .malformed
    }
    if part == .transaction { try checkBundle(signed.payload) }
    return VerifiedPart(
      environment: try Self.environment(signed.payload["environment"].string), signed: signed)
  }

  // MARK: signature

  /// What the App Store signed: its content, or why that cannot be read.
  private struct Proven {
    let signed: Result<SignedPayload, JSONError>
    let certificate: String
  }

  /// Verifies a JWS. Everything that needs no public-key arithmetic is checked first. A payload that cannot
  /// be read is judged as signed now.
  private func prove(_ text: [UInt8], now: Instant) throws(AppleRefusal) -> Proven {
    let jws: JWSSegments
    do { jws = try JWSSegments(text, byteCountMax: Self.signedByteCountMax) } catch {
      throw AppleRefusal(error)
    }
    let known = chains.chain(ofHeader: jws.header, now: now)
    let x5c = known == nil ? try certificates(jws) : []
    guard jws.signature.count == P256PublicKey.signatureByteCount else { throw .signatureEncoding }
    guard P256PublicKey.canBeSignature(jws.signature) else { throw .badSignature }
    let payload = Result { () throws(JSONError) in
      try JSON.parseForeign(jws.payload, limits: Self.payloadLimits).requireObject()
    }
    var signedDate = now
    if case .success(let json) = payload {
      guard let date = try? json["signedDate"].requireInstant() else { throw .missingDate }
      guard date <= now + Self.tolerance else { throw .inFuture }
      signedDate = date
    }
    let chain: ChainCache.Chain
    if let known {
      chain = try known.checked(at: signedDate)
    } else {
      chain = try chains.chain(x5c, at: signedDate, now: now)
    }
    guard chain.key.isValid(signature: jws.signature, for: jws.signingInput) else {
      throw .badSignature
    }
    if known == nil { chains.remember(header: jws.header, chain, now: now) }
    return Proven(
      signed: payload.map { SignedPayload(payload: $0, signedDate: signedDate) },
      certificate: chain.certificate)
  }

  /// The certificates in an unknown header. Most forgeries end here.
  private func certificates(_ jws: JWSSegments) throws(AppleRefusal) -> [String] {
    let (header, algorithm): (JSON, String)
    do { (header, algorithm) = try jws.readHeader() } catch { throw AppleRefusal(error) }
    guard algorithm == "ES256" else {
      throw .algorithm(AppleRefusal.Algorithm(rawValue: algorithm) ?? .other)
    }
    guard let array = header["x5c"].array, array.count == 3 else { throw .certificateCount }
    let texts = array.compactMap { $0.string }
    guard texts.count == array.count else { throw .certificateEncoding }
    guard trust.roots[texts[2]] != nil else { throw .wrongRoot }
    return texts
  }

  /// The limits of a payload, also when it is read again: what exceeds them was never identified as ours.
  static let payloadLimits = JSONLimits(
    byteCountMax: signedByteCountMax, depthMax: 16, valueCountMax: 8192)

  // MARK: identity

  private func notification(
    _ text: [UInt8], body: [UInt8], now: Instant
  ) throws(AppleRefusal) -> VerifiedNotification {
    let proven = try prove(text, now: now)
    let outer: SignedPayload
    switch proven.signed {
    case .success(let signed): outer = signed
    case .failure(let error):
      // Nothing follows from this environment, because nothing else can be read.
      return VerifiedNotification(
        body: body, signedDate: now, environment: .live, certificate: proven.certificate,
        payload: .failure(error), transaction: nil, renewal: nil)
    }
    let environment = try identify(outer.payload)
    let data = outer.payload["data"]
    let transaction = try inner(.transaction, data["signedTransactionInfo"], environment, now)
    let bought = try? transaction?.get()
    // A notification of one app must not be about another.
    if let named = bought?.payload["bundleId"].string, named != data["bundleId"].string {
      throw .inner(.transaction, .wrongBundle)
    }
    let renewal = try inner(.renewal, data["signedRenewalInfo"], environment, now)
    let renewed = try? renewal?.get()
    if let bought = bought?.originalTransactionID, let renewed = renewed?.originalTransactionID,
      bought != renewed
    {
      throw .contradiction
    }
    return VerifiedNotification(
      body: body, signedDate: outer.signedDate, environment: environment,
      certificate: proven.certificate, payload: .success(outer.payload), transaction: transaction,
      renewal: renewal)
  }

  /// The environment of a notification, from whichever object names it. The object must name our app.
  private func identify(_ payload: JSON) throws(AppleRefusal) -> StoreEnvironment {
    let names = ["data", "summary", "externalPurchaseToken", "appData"]
    guard let name = names.first(where: { payload[$0].isObject }) else { throw .wrongBundle }
    let part = payload[name]
    try checkBundle(part)
    let environment: StoreEnvironment
    if name == "externalPurchaseToken" {
      let isSandbox = part["externalPurchaseId"].string?.hasPrefix("SANDBOX") ?? false
      environment = isSandbox ? .sandbox : .live
    } else {
      environment = try Self.environment(part["environment"].string)
    }
    // The sandbox does not give the app's number.
    guard environment == .sandbox || isOurs(part) else { throw .wrongApp }
    return environment
  }

  func checkBundle(_ part: JSON) throws(AppleRefusal) {
    guard app(of: part) != nil else { throw .wrongBundle }
  }

  private func app(of part: JSON) -> AppleApp? {
    let bundleID = part["bundleId"].string
    return trust.apps.first { $0.bundleID == bundleID }
  }

  private func isOurs(_ part: JSON) -> Bool {
    app(of: part)?.appAppleID.map { $0 == part["appAppleId"].integer } ?? false
  }

  /// `Xcode` and `LocalTesting` are refused, too, because developers' own keys sign for them.
  static func environment(_ name: String?) throws(AppleRefusal) -> StoreEnvironment {
    switch name {
    case "Production": return .live
    case "Sandbox": return .sandbox
    default: throw .wrongEnvironment
    }
  }

  /// Verifies a JWS inside a notification on its own: what surrounds it proves nothing about it.
  private func inner(
    _ part: AppleRefusal.Part, _ json: JSON, _ environment: StoreEnvironment, _ now: Instant
  ) throws(AppleRefusal) -> Result<SignedPayload, JSONError>? {
    guard json.exists, !json.isNull else { return nil }
    do throws(AppleRefusal) {
      guard let text = json.utf8 else { throw .malformed }
      let proven = try prove(text, now: now).signed
      if case .success(let signed) = proven {
        if part == .transaction { try checkBundle(signed.payload) }
        guard try Self.environment(signed.payload["environment"].string) == environment else {
          throw .wrongEnvironment
        }
      }
      return proven
    } catch {
      throw .inner(part, error)
    }
  }
}
