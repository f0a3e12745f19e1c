package import Base
internal import JSON
internal import Subscriptions
package import Tiers

/// A notification that the App Store signed, about our app; only `AppleVerifier` makes one.
///
/// It does not prove that a notification is new: each may come again for days.
package struct VerifiedNotification: Sendable {
  /// The webhook's body as it came.
  package let body: [UInt8]
  package let signedDate: Instant
  package let receivedAt: Instant
  package let environment: StoreEnvironment
  /// The digest of the certificate that the outer signature was made under.
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

/// A transaction that the App Store signed, of our app.
package struct VerifiedTransaction: Sendable {
  package let environment: StoreEnvironment
  let signed: SignedPayload

  init(signed: SignedPayload, environment: StoreEnvironment) {
    self.signed = signed
    self.environment = environment
  }

  package var signedDate: Instant { signed.signedDate }
}

/// A renewal info that the App Store signed.
package struct VerifiedRenewal: Sendable {
  package let environment: StoreEnvironment
  let signed: SignedPayload

  init(signed: SignedPayload, environment: StoreEnvironment) {
    self.signed = signed
    self.environment = environment
  }

  package var signedDate: Instant { signed.signedDate }
}

/// What one JWS of the App Store says, and when it was signed.
struct SignedPayload: Sendable {
  let payload: JSON
  let signedDate: Instant
  /// The digest of the certificate that it was signed under.
  let certificate: String

  var originalTransactionID: String? { payload["originalTransactionId"].string }
}
