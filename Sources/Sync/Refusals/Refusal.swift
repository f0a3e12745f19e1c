package import Requests
package import Base
package import Tiers

/// The refusals of the sync API besides those of any request (`RequestRefusal`), each for one
/// reason that a client can act on.
///
/// `Problems.swift` turns them into HTTP by the table of `RefusalCode`, the only place that holds
/// their statuses.
package enum Refusal: Error, Equatable {
  case sessionNotFound
  case registrationClosed
  case registrationLimited(retryAfterSeconds: Int)
  case inviteRequired
  case inviteInvalid
  case usernameTaken
  case accountExists
  case keyRegistered
  case lastKey
  case keyNotFound
  case tooManyKeys(max: Int)
  case keysUsedUp(max: Int)
  case tooManyBlocks(max: Int)
  case accountSuspended(isCallers: Bool)
  case accountLeaving(Departure, isCallers: Bool)
  case accountNotFound
  case queryInvalid
  case fileNotFound
  case fileDeleted
  case fileExists
  case notPermitted
  case notADocument
  case batchTooLarge(max: Int)
  case batchTooCostly
  case batchRefused([Failure])
  case sharingLimited(retryAfterSeconds: Int)
  case tooManyRecords(max: Int64)
  case tooManyShares(max: Int64)
  case fileTooLarge(max: Int64)
  case preconditionRequired
  case versionChanged(current: Int64)
  case overCap(OverCap)
  case tooManyUploads(max: Int)
  case reservationExpired
  case uploadSuperseded
  case tooMuchReplaced(retryAfterSeconds: Int)
  case creationLimited(retryAfterSeconds: Int)
  case cursorInvalid
  case historyChanged
  case cursorExpired
  case contentMissing
  case limitInvalid
}

/// A write that would leave an account above its cap and higher than before.
package struct OverCap: Equatable, Sendable {
  package let owner: Identifier
  /// Whether the caller is that owner and may see its numbers.
  package let isCallers: Bool
  package let usageByteCount: Int64
  package let capByteCount: Int64
  /// The owner's usage after this write.
  package let neededByteCount: Int64
  package let reason: CapReason
  package let planID: String
}
