package import Base
import JSON
package import Tiers

/// A notification about our app that the App Store signed; only `AppleVerifier` makes one.
///
/// It is not proven to be new: each notification may come again for days. Each of its parts is genuine,
/// but may be unreadable. If that is the payload, nothing shows which app it is about.
package struct VerifiedNotification: Sendable {
  /// The webhook's body as it arrived.
  package let body: [UInt8]
  package let signedDate: Instant
  package let receivedAt: Instant
  package let environment: StoreEnvironment
  /// The digest of the certificate for the outer signature.
  let certificate: String
  let payload: Result<JSON, JSONError>
  let transaction: Result<SignedPayload, JSONError>?
  let renewal: Result<SignedPayload, JSONError>?

  init(
    body: [UInt8], outer: SignedPayload, receivedAt: Instant, environment: StoreEnvironment,
    transaction: Result<SignedPayload, JSONError>?, renewal: Result<SignedPayload, JSONError>?
  ) {
    self.body = body
    signedDate = outer.signedDate
    self.receivedAt = receivedAt
    self.environment = environment
    certificate = outer.certificate
    payload = .success(outer.payload)
    self.transaction = transaction
    self.renewal = renewal
  }

  /// A notification whose payload cannot be read, so that nothing follows from its environment.
  init(body: [UInt8], unreadable error: JSONError, certificate: String, receivedAt: Instant) {
    self.body = body
    signedDate = receivedAt
    self.receivedAt = receivedAt
    environment = .live
    self.certificate = certificate
    payload = .failure(error)
    (transaction, renewal) = (nil, nil)
  }
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
  /// The digest of the certificate for its signature.
  let certificate: String

  var originalTransactionID: String? { payload["originalTransactionId"].string }
}
