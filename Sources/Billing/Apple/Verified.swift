package import Base
internal import JSON
package import Subscriptions

/// A notification that the App Store signed, about our app; only `AppleVerifier` makes one.
///
/// It does not prove that a notification is new: each may come again for days.
package struct VerifiedNotification: Sendable {
  /// The webhook's body as it came.
  package let body: [UInt8]
  package let signedDate: Instant
  package let receivedAt: Instant
  package let partition: ObjectKey.Partition
  let payload: JSON
  let transaction: SignedPayload?
  let renewal: SignedPayload?

  init(
    body: [UInt8], outer: SignedPayload, receivedAt: Instant, partition: ObjectKey.Partition,
    transaction: SignedPayload?, renewal: SignedPayload?
  ) {
    self.body = body
    signedDate = outer.signedDate
    self.receivedAt = receivedAt
    self.partition = partition
    payload = outer.payload
    self.transaction = transaction
    self.renewal = renewal
  }
}

/// A transaction that the App Store signed, of our app.
package struct VerifiedTransaction: Sendable {
  package let partition: ObjectKey.Partition
  let signed: SignedPayload

  init(signed: SignedPayload, partition: ObjectKey.Partition) {
    self.signed = signed
    self.partition = partition
  }

  package var signedDate: Instant { signed.signedDate }
}

/// A renewal info that the App Store signed.
package struct VerifiedRenewal: Sendable {
  package let partition: ObjectKey.Partition
  let signed: SignedPayload

  init(signed: SignedPayload, partition: ObjectKey.Partition) {
    self.signed = signed
    self.partition = partition
  }

  package var signedDate: Instant { signed.signedDate }
}

/// What one JWS of the App Store says, and when it was signed.
struct SignedPayload: Sendable {
  let payload: JSON
  let signedDate: Instant

  var originalTransactionID: String? { payload["originalTransactionId"].string }
}
