package import Requests

/// Every code of the sync API and its HTTP status. Codes of any request belong to `RequestRefusal`.
package enum RefusalCode: String, CaseIterable {
  case batchTooLarge = "batch_too_large"
  case batchTooCostly = "batch_too_costly"
  case sharingLimited = "sharing_limited"
  case tooManyRecords = "too_many_records"
  case tooManyShares = "too_many_shares"
  case fileTooLarge = "file_too_large"
  case registrationClosed = "registration_closed"
  case registrationLimited = "registration_limited"
  case inviteRequired = "invite_required"
  case inviteInvalid = "invite_invalid"
  case usernameTaken = "username_taken"
  case accountExists = "account_exists"
  case tooManyKeys = "too_many_keys"
  case keysUsedUp = "keys_used_up"
  case tooManyBlocks = "too_many_blocks"
  case keyRegistered = "key_registered"
  case lastKey = "last_key"
  case keyNotFound = "key_not_found"
  case sessionNotFound = "session_not_found"
  case accountSuspended = "account_suspended"
  case accountLeaving = "account_leaving"
  case accountNotFound = "account_not_found"
  case queryInvalid = "query_invalid"
  case fileNotFound = "file_not_found"
  case fileExists = "file_exists"
  case fileDeleted = "file_deleted"
  case notPermitted = "not_permitted"
  case notADocument = "not_a_document"
  case preconditionRequired = "precondition_required"
  case versionChanged = "version_changed"
  case tooManyUploads = "too_many_uploads"
  case reservationExpired = "reservation_expired"
  case tooMuchReplaced = "too_much_replaced"
  case creationLimited = "creation_limited"
  case uploadSuperseded = "upload_superseded"
  case cursorInvalid = "cursor_invalid"
  case historyChanged = "history_changed"
  case cursorExpired = "cursor_expired"
  case contentMissing = "content_unavailable"
  case limitInvalid = "limit_invalid"
  case batchRefused = "batch_refused"
  case updatesRequired = "updates_required"
  case overCap = "over_cap"

  package var row: RefusalRow {
    switch self {
    case .batchTooLarge: RefusalRow(400, "Batch too large")
    case .batchTooCostly: RefusalRow(422, "Batch too costly")
    case .sharingLimited: RefusalRow(429, "Too many invitations today", isRetryable: true)
    case .tooManyRecords: RefusalRow(409, "Too many files")
    case .tooManyShares: RefusalRow(409, "Too many shares")
    case .fileTooLarge: RefusalRow(413, "File too large")
    case .registrationClosed: RefusalRow(403, "Registration closed")
    case .registrationLimited: RefusalRow(429, "Too many accounts", isRetryable: true)
    case .inviteRequired: RefusalRow(403, "Invite required")
    case .inviteInvalid: RefusalRow(403, "Invite invalid")
    case .usernameTaken: RefusalRow(409, "Username taken")
    case .accountExists: RefusalRow(409, "Account exists")
    case .tooManyKeys: RefusalRow(409, "Too many keys")
    case .keysUsedUp: RefusalRow(409, "Keys used up")
    case .tooManyBlocks: RefusalRow(409, "Too many blocks")
    case .keyRegistered: RefusalRow(409, "Key already registered")
    case .lastKey: RefusalRow(409, "Last key")
    case .keyNotFound: RefusalRow(404, "Key not found")
    case .sessionNotFound: RefusalRow(404, "Session not found")
    case .accountSuspended: RefusalRow(403, "Account suspended")
    case .accountLeaving: RefusalRow(403, "Account is being deleted")
    case .accountNotFound: RefusalRow(404, "Account not found")
    case .queryInvalid: RefusalRow(400, "Query invalid")
    case .fileNotFound: RefusalRow(404, "File not found")
    case .fileExists: RefusalRow(409, "File exists")
    case .fileDeleted: RefusalRow(410, "File deleted")
    case .notPermitted: RefusalRow(403, "Not permitted")
    case .notADocument: RefusalRow(409, "Not a document")
    case .preconditionRequired: RefusalRow(428, "Precondition required")
    case .versionChanged: RefusalRow(412, "Content changed meanwhile")
    case .tooManyUploads: RefusalRow(429, "Too many uploads", isRetryable: true)
    case .reservationExpired: RefusalRow(409, "Upload took too long")
    case .tooMuchReplaced: RefusalRow(429, "Too much replaced at once", isRetryable: true)
    case .creationLimited: RefusalRow(429, "Too many files made", isRetryable: true)
    case .uploadSuperseded: RefusalRow(409, "Sent again meanwhile")
    case .cursorInvalid: RefusalRow(400, "Cursor invalid")
    case .historyChanged: RefusalRow(410, "Start over")
    case .cursorExpired: RefusalRow(410, "Start over")
    case .contentMissing: RefusalRow(503, "Content unavailable", isRetryable: true)
    case .limitInvalid: RefusalRow(400, "Limit invalid")
    case .batchRefused: RefusalRow(422, "Batch refused")
    case .updatesRequired: RefusalRow(409, "Updates required")
    case .overCap: RefusalRow(507, "Over the storage cap")
    }
  }
}
