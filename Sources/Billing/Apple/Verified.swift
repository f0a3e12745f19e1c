package import Base
import JSON
package import Tiers

/// A notification about our app that the App Store signed; only `AppleVerifier` makes one.
///
/// It may come again for days. Each of its parts is genuine, but may be unreadable. If that is the payload,
/// nothing shows which app it is about.
package struct VerifiedNotification: Sendable {
  /// The webhook's body as it arrived.
  package let body: [UInt8]
  package let signedDate: Instant
  package let environment: StoreEnvironment
  /// The digest of the certificate for the outer signature.
  let certificate: String
  let payload: Result<JSON, JSONError>
  let transaction: Result<SignedPayload, JSONError>?
  let renewal: Result<SignedPayload, JSONError>?
}

/// A transaction of our app, or a renewal info, that the App Store signed.
package struct VerifiedPart: Sendable {
  package let environment: StoreEnvironment
  let signed: SignedPayload

  package var signedDate: Instant { signed.signedDate }
}

/// The content of one JWS of the App Store, and when it was signed.
struct SignedPayload: Sendable {
  let payload: JSON
  let signedDate: Instant

  var originalTransactionID: String? { payload["originalTransactionId"].string }
}
