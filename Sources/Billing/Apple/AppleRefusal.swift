import JWS

/// Why something is not accepted as coming from the App Store, or as being about our app.
package enum AppleRefusal: Error, Hashable, Sendable {
  case tooLong
  /// There is no compact JWS, or the payload of one that was asked for is no JSON object.
  case malformed
  /// The header demands extensions. We know none.
  case critHeader
  case algorithm(Algorithm)
  /// `x5c` does not have exactly three certificates.
  case certificateCount
  case certificateEncoding
  /// The delivered root is not one of ours.
  case wrongRoot
  /// The signer may issue certificates, so it is not a signer.
  case leafIsAuthority
  /// The intermediate certificate may not issue any.
  case intermediateIsNotAuthority
  /// Apple's extension is missing. No other certificate of the same authority has it.
  case missingMarker(Level)
  case notYetValid
  case expired
  case wrongKey
  /// The certificates do not lead to the root delivered with them.
  case brokenChain
  /// A certificate breaks a rule of RFC 5280, for example with an unknown critical extension.
  case unsuitableCertificate
  /// The signature is not 64 raw bytes, but DER, for example.
  case signatureEncoding
  case badSignature
  case missingDate
  /// Signed more than five minutes in the future.
  case inFuture
  /// About another app, or about no app.
  case wrongBundle
  /// A different number in App Store Connect, or a production purchase although we have no number.
  case wrongApp
  /// Neither Production nor Sandbox, or not the environment of the payload around it.
  case wrongEnvironment
  /// A transaction and a renewal of two different subscriptions.
  case contradiction
  /// The outer signature is genuine, but a payload inside is refused for its own reason.
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

  /// A short name for a counter and a problem type. One of a small set, whatever was delivered.
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

  /// Whether the signature is genuine, so that the cause is our own wrong configuration.
  package var isAboutAnotherApp: Bool {
    switch self {
    case .wrongBundle, .wrongApp, .wrongEnvironment: true
    default: false
    }
  }
}
