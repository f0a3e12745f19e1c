import Base
import Crypto

/// The certificate chains that recently led to a root, so that verifying the same one again costs nothing.
///
/// A chain enters once it is verified, and a header once a signature under it is, so forgeries displace nothing.
/// Each is remembered for a quarter of an hour, as in Apple's own libraries.
final class ChainCache: Sendable {
  static let countMax = 32
  static let lifetime = Instant.Span.minutes(15)

  private static let leafMarker = "1.2.840.113635.100.6.11.1"
  private static let intermediateMarker = "1.2.840.113635.100.6.2.1"

  /// A verified chain, reduced to what later signatures need.
  struct Chain: Sendable {
    let key: P256PublicKey
    /// The first bytes of the leaf's SHA-256, in hexadecimal.
    let certificate: String
    /// The time in which all its certificates are valid.
    fileprivate let from: Instant
    fileprivate let to: Instant
    fileprivate let forgetAt: Instant

    func checked(at moment: Instant) throws(AppleRefusal) -> Chain {
      guard from <= moment else { throw .notYetValid }
      guard moment < to else { throw .expired }
      return self
    }
  }

  private let trust: AppleTrust
  private let chains = Locked<[[UInt8]: Chain]>([:])
  /// By the header itself, newest last, because comparing a few headers is faster than hashing one.
  private let headers = Locked<[(header: [UInt8], chain: Chain)]>([])

  init(_ trust: AppleTrust) { self.trust = trust }

  var count: Int { chains.withLock { $0.count } }

  /// The chain of a header that was recently in a genuine JWS; nil for any other header.
  func chain(ofHeader header: [UInt8], now: Instant) -> Chain? {
    let known = headers.withLock { $0.last { $0.header == header } }
    return known.flatMap { now < $0.chain.forgetAt ? $0.chain : nil }
  }

  /// Call it only after a signature under this header was found genuine.
  func remember(header: [UInt8], _ chain: Chain, now: Instant) {
    headers.withLock { headers in
      headers.removeAll { $0.header == header || $0.chain.forgetAt <= now }
      if headers.count >= Self.countMax { headers.removeFirst() }
      headers.append((header, chain))
    }
  }

  /// The chain, after verifying that its certificates lead to one of our roots at `moment`. `x5c` is as in the
  /// header: standard base64, in which every certificate has exactly one form.
  func chain(_ x5c: [String], at moment: Instant, now: Instant) throws(AppleRefusal) -> Chain {
    guard x5c.count == 3 else { throw .certificateCount }
    guard let root = trust.roots[x5c[2]] else { throw .wrongRoot }
    let name = SHA256.hash(Array(x5c.joined(separator: ".").utf8))
    if let known = chains.withLock({ $0[name] }), now < known.forgetAt {
      return try known.checked(at: moment)
    }
    let chain = try Self.verified(x5c[0], x5c[1], root, at: moment, now: now)
    chains.withLock { chains in
      if chains.count >= Self.countMax { chains = chains.filter { now < $0.value.forgetAt } }
      if chains.count >= Self.countMax,
        let oldest = chains.min(by: { $0.value.forgetAt < $1.value.forgetAt })
      {
        chains[oldest.key] = nil
      }
      chains[name] = chain
    }
    return chain
  }

  /// Verifies a chain. All cheap checks come before the two signatures.
  private static func verified(
    _ leafText: String, _ intermediateText: String, _ root: X509Trust, at moment: Instant,
    now: Instant
  ) throws(AppleRefusal) -> Chain {
    let leaf = try certificate(leafText)
    let intermediate = try certificate(intermediateText)
    guard !leaf.isAuthority else { throw .leafIsAuthority }
    guard intermediate.isAuthority else { throw .intermediateIsNotAuthority }
    guard leaf.hasExtension(leafMarker) else { throw .missingMarker(.leaf) }
    guard intermediate.hasExtension(intermediateMarker) else { throw .missingMarker(.intermediate) }
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
    let digest = SHA256.hash(Base64.standard.decode(leafText) ?? [])
    return Chain(
      key: key, certificate: Hex.encode(digest.prefix(8)), from: from, to: to,
      forgetAt: now + lifetime)
  }

  private static func certificate(_ text: String) throws(AppleRefusal) -> X509Certificate {
    guard text.utf8.count <= X509Certificate.byteCountMax / 3 * 4 + 4,
      let der = Base64.standard.decode(text), let certificate = X509Certificate(der: der)
    else { throw .certificateEncoding }
    return certificate
  }
}
