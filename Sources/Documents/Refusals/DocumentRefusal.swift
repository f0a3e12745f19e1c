import Base
import Endpoints
import HTTPMessages
import JSON

/// The refusals that only documents of versions have, each for one reason that a client can act on.
enum DocumentRefusal: AnswerableError, Equatable {
  case documentNotFound
  case versionsRefused([VersionFailure], highest: Int64)
  case blobNotFound
  case blobExists
  case clockExpired
  case cursorInvalid

  var problem: Problem {
    switch self {
    case .documentNotFound:
      Problem(404, "document_not_found", "Document not found", "There is no such document.")
    case .blobNotFound:
      Problem(
        404, "blob_not_found", "Blob not found",
        "There is no such blob, or the account holds no version that names it.")
    case .blobExists:
      Problem(
        409, "blob_exists", "Blob exists", "A blob has this id. Choose another; blobs never change."
      )
    case .versionsRefused(let failures, let highest):
      Problem(
        422, "versions_refused", "Versions refused",
        "Versions of this batch break rules. Nothing was stored: correct these, and send all again.",
        members: [
          .init("counter", .integer(highest)),
          .init("failures", .array(failures.map(\.json))),
        ])
    case .clockExpired:
      Problem(
        410, "clock_expired", "Start over",
        "Deletions beyond this clock are no longer kept. Pull everything again, with an empty clock, "
          + "and delete what does not come.")
    case .cursorInvalid:
      Problem(
        400, "cursor_invalid", "Cursor invalid",
        "The cursor is not one of a pull. Start again without `cursor`.")
    }
  }
}
