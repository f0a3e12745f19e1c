import Endpoints
package import HTTPMessages
import JSON

/// Refusals that concern contents in any protocol, each for one reason to act on.
package enum ContentRefusal: AnswerableError, Equatable {
  case preconditionRequired
  case versionChanged(current: Int64)
  case versionNotFound
  case tooManyUploads(max: Int)
  case reservationExpired
  case uploadSuperseded
  case contentMissing

  package var problem: Problem {
    switch self {
    case .preconditionRequired:
      Problem(
        428, "precondition_required", "Precondition required",
        "Send If-Match with the content version this write replaces; \"0\" for the first content.")
    case .versionChanged(let current):
      Problem(
        412, "version_changed", "Content changed meanwhile",
        "The content is at version \(current). Fetch it, merge, and write again.",
        members: [.init("current_version", .integer(current))])
    case .versionNotFound:
      Problem(
        404, "version_not_found", "Version not found",
        "The document has no such version, or it is no longer kept.")
    case .tooManyUploads(let max):
      Problem(
        429, "too_many_uploads", "Too many uploads",
        "\(max) uploads are under way, as many as the owner takes. Wait for one to end.",
        retryAfterSeconds: 10)
    case .reservationExpired:
      Problem(
        409, "reservation_expired", "Upload took too long",
        "The upload's reservation has ended. Nothing was stored; send it again.")
    case .uploadSuperseded:
      Problem(
        409, "upload_superseded", "Sent again meanwhile",
        "The same upload was sent again, and that attempt continues. Nothing was stored by this one."
      )
    case .contentMissing:
      Problem(
        503, "content_unavailable", "Content unavailable",
        "The content cannot be read at the moment.", retryAfterSeconds: 5)
    }
  }
}
