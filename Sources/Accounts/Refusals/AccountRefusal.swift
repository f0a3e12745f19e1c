import Endpoints
package import HTTPMessages
import JSON
package import Requests

/// Refusals that concern accounts, keys and quotas in any protocol, each for one reason to act on.
package enum AccountRefusal: AnswerableError, Equatable {
  case sessionNotFound
  case registrationClosed
  case registrationLimited(retryAfterSeconds: Int)
  case inviteRequired
  case inviteInvalid
  case usernameTaken
  case accountExists
  case rootExists
  case keyRegistered
  case lastKey
  case keyNotFound
  case tooManyKeys(max: Int)
  case keysUsedUp(max: Int)
  case tooManyBlocks(max: Int)
  case appPasswordNotFound
  case tooManyAppPasswords(max: Int)
  case accountSuspended(isCallers: Bool)
  case accountLeaving(Departure, isCallers: Bool)
  case accountNotFound
  case queryInvalid
  case tooManyShares(max: Int64)
  case tooManyInvitations
  case invitationNotTaken
  case sharingLimited(retryAfterSeconds: Int)
  case fileTooLarge(max: Int64)
  case tooMuchReplaced(retryAfterSeconds: Int)
  case creationLimited(retryAfterSeconds: Int)
  case overCap(OverCap)

  package var problem: Problem {
    switch self {
    case .sessionNotFound:
      Problem(404, "session_not_found", "Session not found", "There is no such session.")
    case .registrationClosed:
      Problem(
        403, "registration_closed", "Registration closed",
        "Only the operator of this server opens accounts.")
    case .registrationLimited(let seconds):
      Problem(
        429, "registration_limited", "Too many accounts",
        "Too many accounts were requested from this address. Try again later.",
        retryAfterSeconds: seconds)
    case .inviteRequired:
      Problem(
        403, "invite_required", "Invite required",
        "An account needs an invite of the operator: send its code as invite.")
    case .inviteInvalid:
      Problem(
        403, "invite_invalid", "Invite invalid",
        "The invite is unknown, used up, expired or revoked.")
    case .usernameTaken:
      Problem(409, "username_taken", "Username taken", "Another account has this username.")
    case .accountExists:
      Problem(
        409, "account_exists", "Account exists", "An account with this id exists, or was erased.")
    case .rootExists:
      Problem(409, "file_exists", "File exists", "A file with the id of the root exists.")
    case .keyRegistered:
      Problem(
        409, "key_registered", "Key already registered", "An account has registered this key.")
    case .lastKey:
      Problem(
        409, "last_key", "Last key", "An account keeps at least one key. Add another one first.")
    case .keyNotFound:
      Problem(404, "key_not_found", "Key not found", "This account has no such key.")
    case .tooManyKeys(let max):
      Problem(
        409, "too_many_keys", "Too many keys", "An account holds at most \(max) keys. Revoke one.")
    case .keysUsedUp(let max):
      Problem(
        409, "keys_used_up", "Keys used up",
        "An account can have \(max) keys in its life, revoked ones included.")
    case .tooManyBlocks(let max):
      Problem(409, "too_many_blocks", "Too many blocks", "An account blocks at most \(max) others.")
    case .appPasswordNotFound:
      Problem(
        404, "app_password_not_found", "App password not found",
        "This account has no such app password.")
    case .tooManyAppPasswords(let max):
      Problem(
        409, "too_many_app_passwords", "Too many app passwords",
        "An account has at most \(max) app passwords. Revoke one.")
    case .accountSuspended(let isCallers):
      Problem(
        403, "account_suspended", "Account suspended",
        "The operator has blocked all writes to \(isCallers ? "this account" : "the owner's account"). "
          + "Reading and deleting still work.")
    case .accountLeaving(let departure, let isCallers):
      Problem(
        403, "account_leaving", "Account is being deleted",
        isCallers
          ? departure.detail + " Reading and deleting still work."
          : "The owner's account is being deleted. Copy what you need from it.",
        members: isCallers ? departure.members : departure.members.filter { $0.name == "erases" })
    case .accountNotFound:
      Problem(404, "account_not_found", "Account not found", "There is no such account.")
    case .queryInvalid:
      Problem(
        400, "query_invalid", "Query invalid", "Give exactly one of username, account or key.")
    case .tooManyShares(let max):
      Problem(
        409, "too_many_shares", "Too many shares",
        "The owner's plan allows \(max) shares, pending ones included.",
        members: [.init("max", .integer(max))])
    case .tooManyInvitations:
      Problem(
        409, "too_many_invitations", "Too many invitations",
        "Too many invitations to strangers are unanswered. Withdraw one, or wait for an answer.")
    case .invitationNotTaken:
      Problem(
        409, "invitation_not_taken", "Invitation not taken",
        "The account does not accept invitations from the caller now.")
    case .sharingLimited(let seconds):
      Problem(
        429, "sharing_limited", "Too many invitations today",
        "A young or free account invites a limited number of strangers a day.",
        retryAfterSeconds: seconds)
    case .fileTooLarge(let max):
      Problem(
        413, "file_too_large", "File too large",
        "The owner's plan allows \(max) bytes for one document. Nothing was stored.",
        members: [.init("max", .integer(max))])
    case .tooMuchReplaced(let seconds):
      Problem(
        429, "too_much_replaced", "Too much replaced at once",
        "Content that was replaced or deleted is still being cleared away. Nothing was stored.",
        retryAfterSeconds: seconds)
    case .creationLimited(let seconds):
      Problem(
        429, "creation_limited", "Too many files made",
        "Many more files were created than the owner's cap holds. Nothing was written.",
        retryAfterSeconds: seconds)
    case .overCap(let overCap): overCap.problem
    }
  }
}
