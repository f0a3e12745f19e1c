internal import JWS

/// Why something is not believed to come from the App Store, or not to be about our app.
package enum AppleRefusal: Error, Hashable, Sendable {
  case tooLong
  /// No `signedPayload`, no compact JWS, or a payload that is no JSON object.
  case malformed
  /// A header that demands extensions: there are none that we know.
  case critHeader
  case algorithm(Algorithm)
  /// `x5c` has not exactly three certificates.
  case certificateCount
  /// What `x5c` holds is no certificate.
  case certificateEncoding
  /// The delivered root is none of ours.
  case wrongRoot
  /// The signer may issue certificates, so it is no signer.
  case leafIsAuthority
  /// The certificate between may not issue any: a leaf in its place.
  case intermediateIsNotAuthority
  /// Without Apple's extension, which no other certificate of the same authority has.
  case missingMarker(Level)
  case notYetValid
  case expired
  /// The signer's key is no P-256 key.
  case wrongKey
  /// The certificates do not lead to the root that stands beside them.
  case brokenChain
  /// A certificate breaks a rule of RFC 5280, say by an unknown critical extension.
  case unsuitableCertificate
  /// Not 64 raw bytes: DER, for example.
  case signatureEncoding
  case badSignature
  case missingDate
  /// Signed more than five minutes after now.
  case inFuture
  /// About another app, or about none.
  case wrongBundle
  /// Another number in App Store Connect, or a production purchase while we have none.
  case wrongApp
  /// Neither Production nor Sandbox, or another one than what surrounds it says.
  case wrongEnvironment
  /// A transaction and a renewal of two subscriptions.
  case contradiction
  /// The outer signature is genuine; what is inside is refused for its own reason.
  indirect case inner(Part, AppleRefusal)

  package enum Algorithm: String, Sendable {
    case none = "none"
    case hs256 = "HS256"
    case rs256 = "RS256"
    case other
  }

  package enum Level: String, Sendable { case leaf, intermediate }
  package enum Part: String, Sendable { case transaction, renewal }
}

extension AppleRefusal {
  init(_ error: JWSError) {
    self =
      switch error {
      case .tooLong: .tooLong
      case .malformed: .malformed
      case .critical: .critHeader
      }
  }

  /// A short name for a counter and a problem type: of a small set, whatever was delivered.
  package var name: String {
    switch self {
    case .tooLong: "too-long"
    case .malformed: "malformed"
    case .critHeader: "crit-header"
    case .algorithm(let algorithm): "algorithm-\(algorithm.rawValue.lowercased())"
    case .certificateCount: "certificate-count"
    case .certificateEncoding: "certificate-encoding"
    case .wrongRoot: "wrong-root"
    case .leafIsAuthority: "leaf-is-authority"
    case .intermediateIsNotAuthority: "intermediate-is-not-authority"
    case .missingMarker(let level): "missing-\(level.rawValue)-marker"
    case .notYetValid: "not-yet-valid"
    case .expired: "expired"
    case .wrongKey: "wrong-key"
    case .brokenChain: "broken-chain"
    case .unsuitableCertificate: "unsuitable-certificate"
    case .signatureEncoding: "signature-encoding"
    case .badSignature: "bad-signature"
    case .missingDate: "missing-date"
    case .inFuture: "in-future"
    case .wrongBundle: "wrong-bundle"
    case .wrongApp: "wrong-app"
    case .wrongEnvironment: "wrong-environment"
    case .contradiction: "contradiction"
    case .inner(let part, let refusal): "\(part.rawValue)-\(refusal.name)"
    }
  }

  /// Whether a genuine signature is behind it, so that it means a wrong configuration of ours.
  package var isAboutAnotherApp: Bool {
    switch self {
    case .wrongBundle, .wrongApp, .wrongEnvironment: true
    default: false
    }
  }
}
