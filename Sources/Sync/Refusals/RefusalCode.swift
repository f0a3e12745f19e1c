/// Every code by which the sync API refuses, and what it is in HTTP: the one table of its statuses.
///
/// A signature that does not hold has the codes of `HTTPSignatures`, all of them 400 or 401.
package enum RefusalCode: String, CaseIterable {
  case notAuthenticated = "not_authenticated"
  case unknownKey = "unknown_key"
  case revokedKey = "revoked_key"
  case unknownSession = "session_invalid"
  case rateLimited = "rate_limited"
  case addressRefused = "too_many_refusals"
  case replayed = "replayed"
  case signatureRequired = "signature_required"
  case digestMismatch = "digest_mismatch"
  case bodyInvalid = "body_invalid"
  case batchTooLarge = "batch_too_large"
  case batchTooCostly = "batch_too_costly"
  case sharingLimited = "sharing_limited"
  case tooManyRecords = "too_many_records"
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

  /// Of a code: its status and title, and whether the same request may succeed by and by, so that it
  /// bears a Retry-After.
  package struct Row {
    package let status: Int
    let title: String
    let isRetryable: Bool

    init(_ status: Int, _ title: String, isRetryable: Bool = false) {
      self.status = status
      self.title = title
      self.isRetryable = isRetryable
    }
  }

  package var row: Row {
    switch self {
    case .notAuthenticated: Row(401, "Not authenticated")
    case .unknownKey: Row(401, "Unknown key")
    case .revokedKey: Row(401, "Key revoked")
    case .unknownSession: Row(401, "Session invalid")
    case .rateLimited: Row(429, "Too many requests", isRetryable: true)
    case .addressRefused: Row(429, "Too many refused requests", isRetryable: true)
    case .replayed: Row(401, "Nonce already used")
    case .signatureRequired: Row(401, "Signature required")
    case .digestMismatch: Row(400, "Body differs from its digest")
    case .bodyInvalid: Row(400, "Body invalid")
    case .batchTooLarge: Row(400, "Batch too large")
    case .batchTooCostly: Row(422, "Batch too costly")
    case .sharingLimited: Row(429, "Too many invitations today", isRetryable: true)
    case .tooManyRecords: Row(409, "Too many files")
    case .registrationClosed: Row(403, "Registration closed")
    case .registrationLimited: Row(429, "Too many accounts", isRetryable: true)
    case .inviteRequired: Row(403, "Invite required")
    case .inviteInvalid: Row(403, "Invite invalid")
    case .usernameTaken: Row(409, "Username taken")
    case .accountExists: Row(409, "Account exists")
    case .tooManyKeys: Row(409, "Too many keys")
    case .keysUsedUp: Row(409, "Keys used up")
    case .tooManyBlocks: Row(409, "Too many blocks")
    case .keyRegistered: Row(409, "Key already registered")
    case .lastKey: Row(409, "Last key")
    case .keyNotFound: Row(404, "Key not found")
    case .sessionNotFound: Row(404, "Session not found")
    case .accountSuspended: Row(403, "Account suspended")
    case .accountNotFound: Row(404, "Account not found")
    case .queryInvalid: Row(400, "Query invalid")
    case .fileNotFound: Row(404, "File not found")
    case .fileExists: Row(409, "File exists")
    case .fileDeleted: Row(410, "File deleted")
    case .notPermitted: Row(403, "Not permitted")
    case .notADocument: Row(409, "Not a document")
    case .preconditionRequired: Row(428, "Precondition required")
    case .versionChanged: Row(412, "Content changed meanwhile")
    case .tooManyUploads: Row(429, "Too many uploads", isRetryable: true)
    case .reservationExpired: Row(409, "Upload took too long")
    case .tooMuchReplaced: Row(429, "Too much replaced at once", isRetryable: true)
    case .creationLimited: Row(429, "Too many files made", isRetryable: true)
    case .uploadSuperseded: Row(409, "Sent again meanwhile")
    case .cursorInvalid: Row(400, "Cursor invalid")
    case .historyChanged: Row(410, "Start over")
    case .cursorExpired: Row(410, "Start over")
    case .contentMissing: Row(503, "Content unavailable", isRetryable: true)
    case .limitInvalid: Row(400, "Limit invalid")
    case .batchRefused: Row(422, "Batch refused")
    case .updatesRequired: Row(409, "Updates required")
    case .overCap: Row(507, "Over the storage cap")
    }
  }
}
