import Base
import Endpoints
package import HTTPMessages
import JSON

/// The refusals that only mailboxes and key packages have, each for one reason that a client can act on.
package enum MailboxRefusal: AnswerableError, Equatable {
  case messageDiffers
  case messageExpired
  case messageNotDelivered([RefusedReceiver])
  case deviceNotFound
  case noKeyPackage
  case tooManyKeyPackages(max: Int)
  case claimsLimited(retryAfterSeconds: Int)
  case errorInvalid(max: Int)
  case cursorInvalid

  package var problem: Problem {
    switch self {
    case .messageDiffers:
      Problem(
        409, "message_differs", "Another message",
        "This device sent another message under the id. Choose a new id.")
    case .messageExpired:
      Problem(
        409, "message_expired", "Message expired",
        "The message under the id has expired. Choose a new id to send it again.")
    case .messageNotDelivered(let refused):
      Problem(
        422, "message_not_delivered", "Message not delivered",
        "None of the devices takes the message. Nothing was stored.",
        members: [.init("refused", .array(refused.map(\.json)))])
    case .deviceNotFound:
      Problem(
        404, "device_not_found", "Device not found",
        "Neither this account nor one that knows it has such a device.")
    case .noKeyPackage:
      Problem(
        409, "no_key_package", "No key package",
        "The device offers no key package now. Try again when it was online.")
    case .tooManyKeyPackages(let max):
      Problem(
        409, "too_many_key_packages", "Too many key packages",
        "A device offers at most \(max) key packages, besides its last resort.",
        members: [.init("max", .integer(Int64(max)))])
    case .claimsLimited(let seconds):
      Problem(
        429, "claims_limited", "Too many claims today",
        "The account claimed as many key packages as it may in a day.",
        retryAfterSeconds: seconds)
    case .errorInvalid(let max):
      Problem(
        400, "error_invalid", "Error invalid",
        "error must be 1 to \(max) of the characters a-z, 0-9 and _.")
    case .cursorInvalid:
      Problem(
        400, "cursor_invalid", "Cursor invalid",
        "Send the number of a message; after may also be 0.")
    }
  }
}
