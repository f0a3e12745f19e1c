internal import JWS

/// Why something is not believed to be pushed by our own Pub/Sub subscription.
package enum GoogleRefusal: Error, Hashable, Sendable {
  /// No `Authorization: Bearer`.
  case missingToken
  case tooLong
  case malformed
  case critHeader
  /// Another algorithm than RS256, whatever key it is said to be of.
  case algorithm
  /// No key of that id, and the key set was read lately.
  case unknownKey
  /// The key set could not be read in time, and what there is lacks the key: nothing is proven, so
  /// the sender must come again.
  case keysUnavailable
  case badSignature
  case wrongIssuer
  /// Not exactly our audience; a list of audiences is none.
  case wrongAudience
  /// Signed by Google, for another service account than that of our subscription.
  case wrongEmail
  case emailUnverified
  case expired
  case notYetValid

  init(_ error: JWSError) {
    self =
      switch error {
      case .tooLong: .tooLong
      case .malformed: .malformed
      case .critical: .critHeader
      }
  }

  /// A short name for a counter and a problem type.
  package var name: String {
    switch self {
    case .missingToken: "missing-token"
    case .tooLong: "too-long"
    case .malformed: "malformed"
    case .critHeader: "crit-header"
    case .algorithm: "algorithm"
    case .unknownKey: "unknown-key"
    case .keysUnavailable: "keys-unavailable"
    case .badSignature: "bad-signature"
    case .wrongIssuer: "wrong-issuer"
    case .wrongAudience: "wrong-audience"
    case .wrongEmail: "wrong-email"
    case .emailUnverified: "email-unverified"
    case .expired: "expired"
    case .notYetValid: "not-yet-valid"
    }
  }
}
