import Accounts
import Endpoints
package import HTTPMessages
import JSON
import Requests

/// The refusals of the door for Actual's clients, with the bytes of each.
///
/// Clients know a refusal by its text, letter by letter: as the whole body, or as the member `reason` of JSON. So this
/// is the only list of them. Texts that no client knows are shown as an error that should be reported.
package enum ActualRefusal: AnswerableError, CaseIterable, Equatable {
  case tokenNotFound
  case passwordInvalid
  case loginSettingsMissing
  case alreadyBootstrapped
  case passwordFixed
  case tooManyTries
  case rateLimited
  case bodyInvalid
  case fileInvalid
  case fileMissing
  case fileNotSingle
  case fileNotFound
  case fileUnknown
  case fileWithoutInfo
  case fileToDeleteMissing
  case nameMissing
  case nameInvalid
  case nameNotText
  case groupInvalid
  case metaInvalid
  case metaWithoutKey
  case keyNotText
  case saltNotText
  case testNotText
  case syncMalformed
  case sinceMissing
  case sinceInvalid
  case timestampInvalid
  case messageTooLong
  case clockDrift
  case fileOldVersion
  case fileNeedsUpload
  case fileKeyMismatch
  case fileHasReset
  case fileHasNewKey
  case overCap
  case logFull
  case tooManyFiles
  case suspended
  case tooMuchReplaced

  /// What a client gets: a text, or `{"status":"error",…}`.
  private enum Form {
    case text(String)
    case reason(String)
    case details(reason: String, String)
    /// The members in the order in which Actual's server writes them here.
    case unprocessable(String)
  }

  private var answer: (status: Int, form: Form) {
    switch self {
    case .tokenNotFound: (401, .details(reason: "unauthorized", "token-not-found"))
    case .passwordInvalid: (400, .reason("invalid-password"))
    case .loginSettingsMissing: (400, .reason("invalid-login-settings"))
    case .alreadyBootstrapped: (400, .reason("already-bootstrapped"))
    case .passwordFixed: (403, .details(reason: "forbidden", "permission-not-found"))
    case .tooManyTries: (429, .reason("too-many-requests"))
    case .rateLimited: (429, .text("Too many requests, please try again later."))
    case .bodyInvalid: (400, .reason("invalid-body"))
    case .fileInvalid: (400, .text("invalid fileId"))
    case .fileMissing: (400, .text("fileId is required"))
    case .fileNotSingle: (400, .text("Single file ID is required"))
    case .fileNotFound: (400, .text("file-not-found"))
    case .fileUnknown: (400, .text("User or file not found"))
    case .fileWithoutInfo: (400, .reason("file-not-found"))
    case .fileToDeleteMissing: (422, .unprocessable("fileId-required"))
    case .nameMissing: (400, .text("single x-actual-name is required"))
    case .nameInvalid: (400, .text("invalid x-actual-name"))
    case .nameNotText: (400, .text("name is required and must be a string"))
    case .groupInvalid: (400, .text("invalid groupId"))
    case .metaInvalid: (400, .text("x-actual-encrypt-meta must be valid JSON"))
    case .metaWithoutKey: (400, .text("x-actual-encrypt-meta must contain a string keyId"))
    case .keyNotText: (400, .text("keyId is required and must be a string"))
    case .saltNotText: (400, .text("keySalt is required and must be a string"))
    case .testNotText: (400, .text("testContent is required and must be a string"))
    case .syncMalformed: (422, .unprocessable("invalid-sync-payload"))
    case .sinceMissing: (422, .unprocessable("since-required"))
    case .sinceInvalid: (422, .unprocessable("invalid-since-timestamp"))
    case .timestampInvalid: (422, .unprocessable("invalid-timestamp"))
    case .messageTooLong: (422, .unprocessable("message-too-long"))
    case .clockDrift: (400, .text("clock-drift"))
    case .fileOldVersion: (400, .text("file-old-version"))
    case .fileNeedsUpload: (400, .text("file-needs-upload"))
    case .fileKeyMismatch: (400, .text("file-key-mismatch"))
    case .fileHasReset: (400, .text("file-has-reset"))
    case .fileHasNewKey: (400, .text("file-has-new-key"))
    case .overCap: (507, .text("over-cap"))
    case .logFull: (507, .text("log-full"))
    case .tooManyFiles: (507, .text("too-many-files"))
    case .suspended: (403, .text("account-suspended"))
    case .tooMuchReplaced: (429, .text("too-much-replaced"))
    }
  }

  package var problem: Problem {
    let (status, form) = answer
    let body: Problem.Body
    let text: String
    switch form {
    case .text(let name):
      (text, body) = (name, .init("text/html; charset=utf-8", Array(name.utf8)))
    case .reason(let reason):
      (text, body) = (reason, .json(["status": "error", "reason": .string(reason)]))
    case .details(let reason, let details):
      text = details
      body = .json([
        "status": "error", "reason": .string(reason), "details": .string(details),
      ])
    case .unprocessable(let details):
      text = details
      body = .json([
        "details": .string(details), "reason": "unprocessable-entity", "status": "error",
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
