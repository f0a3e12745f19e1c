import Base
import Endpoints
import HTTPMessages
import JSON

/// The refusals of key backups and recoveries besides those of any request, each for one reason that a client can act on.
enum RecoveryRefusal: AnswerableError, Equatable {
  case keyBackupNotFound
  case recoveryKeyNotFound
  case recoveryNotFound
  case recoveryKeyRequired
  case recoveryUnderWay(opens: Instant)
  case recoveryNotOpen(opens: Instant?)
  case recoveryLimited(retryAfterSeconds: Int)

  var problem: Problem {
    switch self {
    case .keyBackupNotFound:
      Problem(
        404, "key_backup_not_found", "Key backup not found",
        "There is no key backup of this version, or it is no longer kept.")
    case .recoveryKeyNotFound:
      Problem(
        404, "recovery_key_not_found", "Recovery key not found", "The account has no recovery key.")
    case .recoveryNotFound:
      Problem(
        404, "recovery_not_found", "Recovery not found", "No recovery waits or is open.")
    case .recoveryKeyRequired:
      Problem(
        403, "recovery_key_required", "Recovery key required",
        "Only the recovery key of an account asks for a recovery.")
    case .recoveryUnderWay(let opens):
      Problem(
        409, "recovery_under_way", "Recovery under way",
        "A recovery waits or is open already. A device can refuse it, and it ends by itself.",
        members: [.init("opens", .string(opens.description))])
    case .recoveryNotOpen(let opens):
      Problem(
        403, "recovery_not_open", "Recovery not open",
        opens == nil
          ? "Ask for a recovery first: POST /v1/recovery."
          : "The devices of the account can still refuse this recovery. Try again once it opens.",
        members: [.init("opens", opens.map { .string($0.description) } ?? .null)])
    case .recoveryLimited(let seconds):
      Problem(
        429, "recovery_limited", "Too many recoveries",
        "Too many recoveries were asked for, for this account or from this address. Try later.",
        retryAfterSeconds: seconds)
    }
  }
}
