import Accounts
import Endpoints
package import HTTPMessages
import JSON
import Requests

/// The refusals of the door for Actual's clients, with the bytes of each.
///
/// Clients know a refusal by its text, letter by letter: as the whole body, or as the member `reason` of JSON. So this
/// is the only list of them. Texts that no client knows are shown as an error that should be reported.
package enum ActualRefusal: String, AnswerableError, CaseIterable {
  case tokenNotFound = "token-not-found"
  case passwordInvalid = "invalid-password"
  case loginSettingsMissing = "invalid-login-settings"
  case alreadyBootstrapped = "already-bootstrapped"
  case passwordFixed = "permission-not-found"
  case tooManyTries = "too-many-requests"
  case rateLimited = "Too many requests, please try again later."
  case bodyInvalid = "invalid-body"
  case fileInvalid = "invalid fileId"
  case fileMissing = "fileId is required"
  case fileNotSingle = "Single file ID is required"
  case fileNotFound = "file-not-found"
  case fileUnknown = "User or file not found"
  /// Has the text of `fileNotFound`, in JSON.
  case fileWithoutInfo
  case fileToDeleteMissing = "fileId-required"
  case nameMissing = "single x-actual-name is required"
  case nameInvalid = "invalid x-actual-name"
  case nameNotText = "name is required and must be a string"
  case groupInvalid = "invalid groupId"
  case metaInvalid = "x-actual-encrypt-meta must be valid JSON"
  case metaWithoutKey = "x-actual-encrypt-meta must contain a string keyId"
  case keyNotText = "keyId is required and must be a string"
  case saltNotText = "keySalt is required and must be a string"
  case testNotText = "testContent is required and must be a string"
  case syncMalformed = "invalid-sync-payload"
  case sinceMissing = "since-required"
  case sinceInvalid = "invalid-since-timestamp"
  case timestampInvalid = "invalid-timestamp"
  case messageTooLong = "message-too-long"
  case clockDrift = "clock-drift"
  case fileOldVersion = "file-old-version"
  case fileNeedsUpload = "file-needs-upload"
  case fileKeyMismatch = "file-key-mismatch"
  case fileHasReset = "file-has-reset"
  case fileHasNewKey = "file-has-new-key"
  case overCap = "over-cap"
  case logFull = "log-full"
  case tooManyFiles = "too-many-files"
  case suspended = "account-suspended"
  case tooMuchReplaced = "too-much-replaced"

  /// What a client gets: the text alone, or `{"status":"error",…}` with it.
  private enum Form {
    case text
    case reason
    case details(reason: String)
    /// The members in the order in which Actual's server writes them here.
    case unprocessable
  }

  private var answer: (status: Int, form: Form) {
    switch self {
    case .tokenNotFound: (401, .details(reason: "unauthorized"))
    case .passwordFixed: (403, .details(reason: "forbidden"))
    case .suspended: (403, .text)
    case .passwordInvalid, .loginSettingsMissing, .alreadyBootstrapped, .bodyInvalid,
      .fileWithoutInfo:
      (400, .reason)
    case .fileToDeleteMissing, .syncMalformed, .sinceMissing, .sinceInvalid, .timestampInvalid,
      .messageTooLong:
      (422, .unprocessable)
    case .tooManyTries: (429, .reason)
    case .rateLimited, .tooMuchReplaced: (429, .text)
    case .overCap, .logFull, .tooManyFiles: (507, .text)
    default: (400, .text)
    }
  }

  private var text: String { self == .fileWithoutInfo ? Self.fileNotFound.rawValue : rawValue }

  package var problem: Problem {
    let (status, form) = answer
    let body: Problem.Body =
      switch form {
      case .text: .init("text/html; charset=utf-8", Array(text.utf8))
      case .reason: .json(["status": "error", "reason": .string(text)])
      case .details(let reason):
        .json(["status": "error", "reason": .string(reason), "details": .string(text)])
      case .unprocessable:
        .json([
          "details": .string(text), "reason": "unprocessable-entity", "status": "error",
        ])
      }
    return Problem(status, text, "Refused", text, body: body)
  }

  /// What a refusal of Coffer's own means to a client of Actual; nil if it gets it as it is.
  init?(_ error: any Error) {
    switch error {
    case let refusal as RequestRefusal:
      switch refusal {
      case .rateLimited, .addressRefused: self = .rateLimited
      default: self = .tokenNotFound
      }
    case let refusal as AccountRefusal:
      switch refusal {
      case .overCap, .fileTooLarge: self = .overCap
      case .accountSuspended, .accountLeaving: self = .suspended
      case .tooMuchReplaced: self = .tooMuchReplaced
      default: return nil
      }
    case let refusal as LogRefusal:
      switch refusal {
      case .logNotFound: self = .fileNotFound
      case .epochChanged, .beforeHorizon: self = .fileHasReset
      case .timestampAhead: self = .clockDrift
      case .logFull: self = .logFull
      case .tooManyLogs: self = .tooManyFiles
      default: return nil
      }
    default: return nil
    }
  }
}

extension Problem.Body {
  static func json(_ value: JSONValue) -> Problem.Body {
    Problem.Body("application/json; charset=utf-8", value.encoded())
  }
}
