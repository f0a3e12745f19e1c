internal import JWS

/// Why something is not accepted as a push of our own Pub/Sub subscription.
package enum GoogleRefusal: Error, Hashable, Sendable {
  /// There is no `Authorization: Bearer`.
  case missingToken
  case tooLong
  case malformed
  case critHeader
  /// An algorithm other than RS256, whatever key it names.
  case algorithm
  /// There is no key of that id, and the key set was read recently.
  case unknownKey
  /// The key set could not be read in time, and the last one does not have the key. Nothing is
  /// proven, so the sender must come again.
  case keysUnavailable
  case badSignature
  case wrongIssuer
  /// Not exactly our audience. A list of audiences is not accepted.
  case wrongAudience
  /// Signed by Google, but for a service account other than our subscription's.
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
