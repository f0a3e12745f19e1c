package import Base
import JSON
package import Tiers

/// A notification about our app that the App Store signed; only `AppleVerifier` makes one.
///
/// It is not proven to be new: each notification may come again for days.
package struct VerifiedNotification: Sendable {
  /// The webhook's body as it arrived.
  package let body: [UInt8]
  package let signedDate: Instant
  package let receivedAt: Instant
  package let environment: StoreEnvironment
  /// The digest of the certificate for the outer signature.
  let certificate: String
  let payload: JSON
  let transaction: SignedPayload?
  let renewal: SignedPayload?

  init(
    body: [UInt8], outer: SignedPayload, receivedAt: Instant, environment: StoreEnvironment,
    transaction: SignedPayload?, renewal: SignedPayload?
  ) {
    self.body = body
    signedDate = outer.signedDate
    self.receivedAt = receivedAt
    self.environment = environment
    certificate = outer.certificate
    payload = outer.payload
    self.transaction = transaction
    self.renewal = renewal
  }
}

/// A transaction of our app that the App Store signed.
package struct VerifiedTransaction: Sendable {
  package let environment: StoreEnvironment
  let signed: SignedPayload

  package var signedDate: Instant { signed.signedDate }
}

/// A renewal info that the App Store signed.
package struct VerifiedRenewal: Sendable {
  package let environment: StoreEnvironment
  let signed: SignedPayload

  package var signedDate: Instant { signed.signedDate }
}

/// The content of one JWS of the App Store, and when it was signed.
struct SignedPayload: Sendable {
  let payload: JSON
  let signedDate: Instant
  /// The digest of the certificate for its signature.
  let certificate: String

  var originalTransactionID: String? { payload["originalTransactionId"].string }
}
