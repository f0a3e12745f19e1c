import Endpoints
import HTTPMessages
import JSON

/// Refusals that concern resumable uploads in any protocol, each for one reason to act on.
enum UploadRefusal: AnswerableError, Equatable {
  case notFound
  case lost
  case busy
  case versionUnsupported
  case partUnsupported
  case tusVersionUnsupported
  case fieldInvalid(_ name: String, _ rule: String)
  case mediaTypeInvalid(String)
  case tooLarge(max: Int64)
  case offsetWrong(current: Int64)
  case tooLong(max: Int64)
  case tooShort(byteCount: Int64)
  case digestWrong

  var problem: Problem {
    switch self {
    case .notFound:
      Problem(
        404, "upload_not_found", "Upload not found",
        "There is no such upload, or it has expired. Create another one.")
    case .lost:
      Problem(
        410, "upload_lost", "Upload lost",
        "Bytes of this upload are not in the object store any more. Create another upload.")
    case .busy:
      Problem(
        503, "upload_busy", "Upload busy",
        "An earlier request has not let go of this upload. Try again shortly.",
        retryAfterSeconds: 1)
    case .versionUnsupported:
      Problem(
        400, "upload_version_unsupported", "Upload protocol not supported",
        "Send Upload-Draft-Interop-Version 3, 5, 6 or 8 with that version's completion field, or "
          + "Tus-Resumable: 1.0.0.")
    case .partUnsupported:
      Problem(
        400, "upload_version_unsupported", "Upload protocol not supported",
        "Send the whole content in one PUT. This one cannot be uploaded in parts.")
    case .tusVersionUnsupported:
      Problem(
        412, "tus_version_unsupported", "tus version not supported",
        "The server speaks tus 1.0.0.",
        headers: [.init("Tus-Version", "1.0.0")])
    case .fieldInvalid(let name, let rule):
      Problem(400, "upload_field_invalid", "Upload field invalid", "\(name) \(rule).")
    case .mediaTypeInvalid(let type):
      Problem(
        415, "upload_media_type_invalid", "Media type not supported",
        "An append needs Content-Type: \(type).")
    case .tooLarge(let max):
      Problem(
        413, "upload_too_large", "Upload too large",
        "The server accepts \(max) bytes for one content. Nothing was stored.",
        members: [.init("max", .integer(max))])
    case .offsetWrong(let current):
      Problem(
        409, "upload_offset_wrong", "Offset wrong",
        "The upload is at byte \(current). Continue there.",
        members: [.init("offset", .integer(current))])
    case .tooLong(let max):
      Problem(
        400, "upload_too_long", "Longer than announced",
        "The upload was announced with \(max) bytes. It has ended; create another one.")
    case .tooShort(let byteCount):
      Problem(
        400, "upload_too_short", "Shorter than announced",
        "The upload was announced with \(byteCount) bytes. It is not complete yet.")
    case .digestWrong:
      Problem(
        400, "upload_digest_wrong", "Repr-Digest mismatch",
        "The content does not match the announced Repr-Digest. The upload has ended; create "
          + "another one.")
    }
  }
}
