import JWS

/// Why something is not accepted as a push of our own subscription. Its name labels a counter and a problem.
package enum GoogleRefusal: String, Error, Hashable, Sendable {
  /// There is no `Authorization: Bearer`.
  case missingToken = "missing-token"
  case tooLong = "too-long"
  case malformed
  case critHeader = "crit-header"
  /// An algorithm other than RS256, whatever key it names.
  case algorithm
  /// There is no key of that id, and the key set was read recently.
  case unknownKey = "unknown-key"
  /// The key set could not be read in time. Nothing is proven, so the sender must come again.
  case keysUnavailable = "keys-unavailable"
  case badSignature = "bad-signature"
  case wrongIssuer = "wrong-issuer"
  /// Not exactly our audience. A list of audiences is not accepted.
  case wrongAudience = "wrong-audience"
  /// Signed by Google, but for a service account other than our subscription's.
  case wrongEmail = "wrong-email"
  case emailUnverified = "email-unverified"
  case expired
  case notYetValid = "not-yet-valid"

  init(_ error: JWSError) {
    self =
      switch error {
      case .tooLong: .tooLong
      case .malformed: .malformed
      case .critical: .critHeader
      }
  }
}
