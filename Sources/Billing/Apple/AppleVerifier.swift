package import Base
internal import Crypto
internal import JSON
internal import JWS
internal import Subscriptions
internal import Tiers

/// Proves that what was delivered comes from the App Store and is about our app.
///
/// Any thread may call it. It looks nothing up: certificates are judged at the time of signing, by
/// the pinned roots alone, and whether one was revoked is not asked (Apple's libraries call that
/// offline verification).
package final class AppleVerifier: Sendable {
  /// How far ahead of ours the store's clock may be.
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

  /// How many chains are remembered: at most 32.
  package var chainCount: Int { chains.count }

  /// Judges the body of a webhook: `{"signedPayload": …}`.
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

  /// What stands where the signed payload does in a body as the store writes it; nil in any other.
  ///
  /// Where it is a JWS, nothing in it means anything to JSON, so that a parser would say the same;
  /// where it is none, only a parser can tell.
  private static func plainPayload(_ body: [UInt8]) -> [UInt8]? {
    guard body.count >= prefix.count + suffix.count, body.starts(with: prefix),
      body.suffix(suffix.count).elementsEqual(suffix)
    else { return nil }
    return Array(body[prefix.count..<(body.count - suffix.count)])
  }

  private static let prefix = Array(#"{"signedPayload":""#.utf8)
  private static let suffix = Array(#""}"#.utf8)

  /// Judges a notification as the history of notifications lists it.
  package func verify(
    signedPayload text: String, now: Instant
  ) throws(AppleRefusal) -> VerifiedNotification {
    let body: JSONValue = ["signedPayload": .string(text)]
    return try notification(Array(text.utf8), body: body.encoded(), now: now)
  }

  /// Judges one transaction: what a client posts, or what the API answers.
  package func verify(
    transaction text: String, now: Instant
  ) throws(AppleRefusal) -> VerifiedTransaction {
    let signed = try authenticate(Array(text.utf8), now: now)
    try checkBundle(signed.payload)
    return VerifiedTransaction(
      signed: signed, environment: try Self.environment(signed.payload["environment"].string))
  }

  /// Judges a renewal info of the API. It names no app: the subscription it speaks of does.
  package func verify(
    renewal text: String, now: Instant
  ) throws(AppleRefusal) -> VerifiedRenewal {
    let signed = try authenticate(Array(text.utf8), now: now)
    return VerifiedRenewal(
      signed: signed, environment: try Self.environment(signed.payload["environment"].string))
  }

  // MARK: signature

  /// What can be refused without public-key arithmetic is.
  private func authenticate(
    _ text: [UInt8], now: Instant
  ) throws(AppleRefusal) -> SignedPayload {
    let jws: JWSSegments
    do { jws = try JWSSegments(text, byteCountMax: Self.signedByteCountMax) } catch {
      throw AppleRefusal(error)
    }
    let known = chains.chain(ofHeader: jws.header, now: now)
    let x5c = known == nil ? try certificates(jws) : []
    guard jws.signature.count == P256PublicKey.signatureByteCount else { throw .signatureEncoding }
    guard P256PublicKey.canBeSignature(jws.signature) else { throw .badSignature }
    guard let payload = try? JSON.parseForeign(jws.payload, limits: Self.payloadLimits),
      payload.isObject
    else { throw .malformed }
    guard let signedDate = try? payload["signedDate"].requireInstant() else { throw .missingDate }
    guard signedDate <= now + Self.tolerance else { throw .inFuture }
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
    return SignedPayload(
      payload: payload, signedDate: signedDate, certificate: chain.certificate)
  }

  /// What an unknown header brings along, if its algorithm is the one that we take and it names a
  /// root of ours: most forgeries end here.
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

  private static let payloadLimits = JSONLimits(
    byteCountMax: signedByteCountMax, depthMax: 16, valueCountMax: 8192)

  // MARK: identity

  private func notification(
    _ text: [UInt8], body: [UInt8], now: Instant
  ) throws(AppleRefusal) -> VerifiedNotification {
    let outer = try authenticate(text, now: now)
    let environment = try identify(outer.payload)
    let data = outer.payload["data"]
    let transaction = try inner(.transaction, data["signedTransactionInfo"], environment, now)
    // One app's notification says nothing of another's.
    if let named = transaction?.payload["bundleId"].string, named != data["bundleId"].string {
      throw .inner(.transaction, .wrongBundle)
    }
    let renewal = try inner(.renewal, data["signedRenewalInfo"], environment, now)
    if let transaction = transaction?.originalTransactionID,
      let renewal = renewal?.originalTransactionID, transaction != renewal
    {
      throw .contradiction
    }
    return VerifiedNotification(
      body: body, outer: outer, receivedAt: now, environment: environment, transaction: transaction,
      renewal: renewal)
  }

  /// Which app and which environment a notification is about, by whichever object says it.
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
    // The sandbox does not tell the app's number.
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

  /// `Xcode` and `LocalTesting` are signed by developers' own keys, so they are refused with the rest.
  static func environment(_ name: String?) throws(AppleRefusal) -> StoreEnvironment {
    switch name {
    case "Production": return .live
    case "Sandbox": return .sandbox
    default: throw .wrongEnvironment
    }
  }

  /// A JWS inside a notification: nothing is believed of it for what stands around it.
  private func inner(
    _ part: AppleRefusal.Part, _ json: JSON, _ environment: StoreEnvironment, _ now: Instant
  ) throws(AppleRefusal) -> SignedPayload? {
    guard json.exists, !json.isNull else { return nil }
    do throws(AppleRefusal) {
      guard let text = json.utf8 else { throw .malformed }
      let signed = try authenticate(text, now: now)
      if part == .transaction { try checkBundle(signed.payload) }
      guard try Self.environment(signed.payload["environment"].string) == environment else {
        throw .wrongEnvironment
      }
      return signed
    } catch {
      throw .inner(part, error)
    }
  }
}
