import HTTPMessages
import JSON

extension Refusal {
  /// The problem of a refusal that concerns resumable uploads.
  var uploadProblem: Problem {
    switch self {
    case .uploadLost:
      Problem(
        410, "upload_lost", "Upload lost",
        "Bytes of this upload are not in the object store any more. Create another upload.")
    case .uploadBusy:
      Problem(
        503, "upload_busy", "Upload busy",
        "An earlier request has not let go of this upload. Try again shortly.",
        retryAfterSeconds: 1)
    case .uploadVersionUnsupported:
      Problem(
        400, "upload_version_unsupported", "Upload protocol not supported",
        "Send Upload-Draft-Interop-Version 3, 5, 6 or 8 with that version's completion field, or "
          + "Tus-Resumable: 1.0.0.")
    case .tusVersionUnsupported:
      Problem(
        412, "tus_version_unsupported", "tus version not supported",
        "The server speaks tus 1.0.0.",
        headers: [.init("Tus-Version", "1.0.0")])
    case .uploadFieldInvalid(let name, let rule):
      Problem(400, "upload_field_invalid", "Upload field invalid", "\(name) \(rule).")
    case .uploadMediaTypeInvalid(let type):
      Problem(
        415, "upload_media_type_invalid", "Media type not supported",
        "An append needs Content-Type: \(type).")
    case .uploadTooLarge(let max):
      Problem(
        413, "upload_too_large", "Upload too large",
        "The server accepts \(max) bytes for one document. Nothing was stored.",
        members: [.init("max", .integer(max))])
    case .uploadOffsetWrong(let current):
      Problem(
        409, "upload_offset_wrong", "Offset wrong",
        "The upload is at byte \(current). Continue there.",
        members: [.init("offset", .integer(current))])
    case .uploadTooLong(let max):
      Problem(
        400, "upload_too_long", "Longer than announced",
        "The upload was announced with \(max) bytes. It has ended; create another one.")
    case .uploadTooShort(let byteCount):
      Problem(
        400, "upload_too_short", "Shorter than announced",
        "The upload was announced with \(byteCount) bytes. It is not complete yet.")
    case .uploadDigestWrong:
      Problem(
        400, "upload_digest_wrong", "Repr-Digest mismatch",
        "The content does not match the announced Repr-Digest. The upload has ended; create "
          + "another one.")
    default:
      Problem(
        404, "upload_not_found", "Upload not found",
        "There is no such upload, or it has expired. Create another one.")
    }
  }
}
