internal import Base
internal import Crypto

/// The certificate chains that led to a root lately, so that the same one costs nothing again.
///
/// Only verified chains get in, hence a flood of forged ones displaces nothing. A chain is
/// remembered for a quarter of an hour, as by Apple's own libraries, and never beyond its validity.
final class ChainCache: Sendable {
  static let countMax = 32
  static let lifetime = Instant.Span.minutes(15)

  private static let leafMarker = "1.2.840.113635.100.6.11.1"
  private static let intermediateMarker = "1.2.840.113635.100.6.2.1"

  private struct Chain: Sendable {
    let key: P256PublicKey
    /// During which all its certificates hold.
    let from: Instant
    let to: Instant
    let forgetAt: Instant
  }

  private let trust: AppleTrust
  private let chains = Locked<[[UInt8]: Chain]>([:])

  init(_ trust: AppleTrust) { self.trust = trust }

  var count: Int { chains.withLock { $0.count } }

  /// The signer's key, once its certificates are proven to lead to one of our roots at `moment`.
  ///
  /// `x5c` is as in the header: standard base64, of which every certificate has exactly one form.
  func key(_ x5c: [String], at moment: Instant, now: Instant) throws(AppleRefusal) -> P256PublicKey
  {
    guard x5c.count == 3 else { throw .certificateCount }
    guard let root = trust.roots[x5c[2]] else { throw .wrongRoot }
    let name = SHA256.hash(Array(x5c.joined(separator: ".").utf8))
    let known = chains.withLock { $0[name] }
    if let known, now < known.forgetAt {
      guard known.from <= moment else { throw .notYetValid }
      guard moment < known.to else { throw .expired }
      return known.key
    }
    let chain = try Self.verified(x5c[0], x5c[1], root, at: moment, now: now)
    remember(chain, as: name, now: now)
    return chain.key
  }

  /// Everything that costs little comes before the two signatures.
  private static func verified(
    _ leafText: String, _ intermediateText: String, _ root: X509Trust, at moment: Instant,
    now: Instant
  ) throws(AppleRefusal) -> Chain {
    let leaf = try certificate(leafText)
    let intermediate = try certificate(intermediateText)
    guard !leaf.isAuthority else { throw .leafIsAuthority }
    guard intermediate.isAuthority else { throw .intermediateIsNotAuthority }
    guard leaf.hasExtension(leafMarker) else { throw .missingMarker(.leaf) }
    guard intermediate.hasExtension(intermediateMarker) else {
      throw .missingMarker(.intermediate)
    }
    let all = [leaf, intermediate] + root.roots
    let from = all.map { $0.notBefore }.max() ?? .distantFuture
    let to = all.map { $0.notAfter }.min() ?? .distantPast
    guard from <= moment else { throw .notYetValid }
    guard moment < to else { throw .expired }
    guard let key = leaf.p256PublicKey else { throw .wrongKey }
    do {
      try root.verify(leaf: leaf, intermediate: intermediate, at: moment)
    } catch {
      switch error {
      case .notYetValid: throw .notYetValid
      case .expired: throw .expired
      case .untrusted: throw .brokenChain
      case .unsuitable: throw .unsuitableCertificate
      }
    }
    return Chain(key: key, from: from, to: to, forgetAt: now + lifetime)
  }

  private static func certificate(_ text: String) throws(AppleRefusal) -> X509Certificate {
    guard text.utf8.count <= X509Certificate.byteCountMax / 3 * 4 + 4,
      let der = Base64.standard.decode(text), let certificate = X509Certificate(der: der)
    else { throw .certificateEncoding }
    return certificate
  }

  private func remember(_ chain: Chain, as name: [UInt8], now: Instant) {
    chains.withLock { chains in
      if chains.count >= Self.countMax {
        chains = chains.filter { now < $0.value.forgetAt }
      }
      if chains.count >= Self.countMax,
        let oldest = chains.min(by: { $0.value.forgetAt < $1.value.forgetAt })
      {
        chains[oldest.key] = nil
      }
      chains[name] = chain
    }
  }
}
