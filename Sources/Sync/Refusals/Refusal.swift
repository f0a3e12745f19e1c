package import Base
import Endpoints
package import HTTPMessages
import JSON

/// The refusals of file trees besides `RequestRefusal` and `AccountRefusal`, each for one reason to act on.
package enum Refusal: AnswerableError, Equatable {
  case fileNotFound
  case fileDeleted
  case notPermitted
  case notADocument
  case batchTooLarge(max: Int)
  case batchTooCostly
  case batchRefused([Failure])
  case tooManyRecords(max: Int64)
  case trashNotFound
  case trashBusy
  case nameTaken(by: Identifier)
  case parentGone(Identifier)
  case notAFolder
  case folderFull(FolderFull)
  case tooManyFolderCaps(max: Int64)
  case cursorInvalid
  case historyChanged
  case cursorExpired

  package var problem: Problem {
    switch self {
    case .fileNotFound: Problem(404, "file_not_found", "File not found", "There is no such file.")
    case .fileDeleted:
      Problem(
        410, "file_deleted", "File deleted",
        "The file is deleted, by itself or with a folder above it.")
    case .notPermitted:
      Problem(
        403, "not_permitted", "Not permitted", "The caller may see this file but not change it.")
    case .notADocument:
      Problem(409, "not_a_document", "Not a document", "Only documents have content.")
    case .batchTooLarge(let max):
      Problem(
        400, "batch_too_large", "Batch too large",
        "A batch changes at most \(max) files and shares. Nothing was written; send several.")
    case .batchTooCostly:
      Problem(
        422, "batch_too_costly", "Batch too costly",
        "The batch touches too much of the trees: deep folders, accounts, folders whose levels must "
          + "be counted. Nothing was written; send half of the changes at a time.")
    case .batchRefused(let failures): Self.refused(failures)
    case .tooManyRecords(let max):
      Problem(
        409, "too_many_records", "Too many files",
        "The owner's tree holds at most \(max) files. Delete some.")
    case .trashNotFound:
      Problem(
        404, "trash_not_found", "Not in the trash",
        "The account's trash has no such file, or it is no longer kept.")
    case .trashBusy:
      Problem(
        409, "trash_busy", "Trash busy",
        "The file is still being deleted, restored or purged with everything below it. Try again.",
        retryAfterSeconds: 2)
    case .nameTaken(let file):
      Problem(
        409, "name_taken", "Name taken",
        "The folder has another file of this name. Rename or delete it first.",
        members: [.init("file", .string(file.description))])
    case .parentGone(let parent):
      Problem(
        409, "parent_gone", "Folder gone",
        "The folder for the file is deleted, or there is none. Restore it first, or name another.",
        members: [.init("parent", .string(parent.description))])
    case .notAFolder:
      Problem(409, "not_a_folder", "Not a folder", "Only a folder has a cap.")
    case .folderFull(let full): full.problem
    case .tooManyFolderCaps(let max):
      Problem(
        409, "too_many_folder_caps", "Too many capped folders",
        "An account sets caps for at most \(max) folders.", members: [.init("max", .integer(max))])
    case .cursorInvalid:
      Problem(
        400, "cursor_invalid", "Cursor invalid",
        "The cursor is not valid for this account. Start again without `since`.")
    case .historyChanged:
      Problem(
        410, "history_changed", "Start over",
        "The server's history has changed. Fetch everything again, without a cursor.")
    case .cursorExpired:
      Problem(
        410, "cursor_expired", "Start over",
        "Deletions since this cursor are no longer kept. Fetch everything again, without a cursor.")
    }
  }

  /// 409 if pulling and merging may fix it, otherwise 422. Both name every failing change.
  private static func refused(_ failures: [Failure]) -> Problem {
    let member = JSONValue.Member("failures", .array(failures.map(\.json)))
    let stale = failures.filter(\.rule.isCuredByPulling)
    guard !stale.isEmpty else {
      return Problem(
        422, "batch_refused", "Batch refused",
        "Changes of this batch break rules of the tree. Nothing was written.", members: [member])
    }
    let files = stale.map { JSONValue.string($0.file.description) }
    return Problem(
      409, "updates_required", "Updates required",
      "Files changed meanwhile. Nothing was written: pull, merge, and send what is left to do.",
      members: [.init("files", .array(files)), member])
  }
}

extension Failure {
  fileprivate var json: JSONValue {
    var members: [JSONValue.Member] = [.init("file", .string(file.description))]
    if let account { members.append(.init("account", .string(account.description))) }
    members.append(.init("rule", .string(rule.rawValue)))
    members.append(.init("detail", .string(rule.sentence)))
    return .object(members)
  }
}

/// A write that would leave a folder above its cap and fuller than before.
package struct FolderFull: Equatable, Sendable {
  let folder: Identifier
  let capByteCount: Int64
  /// Nil until it is known.
  let usedByteCount: Int64?
  let owner: Identifier
  /// The growth that was asked for.
  let delta: Int64
  /// Whether the caller sees the folder, and so may know what it holds.
  let isSeen: Bool

  var problem: Problem {
    guard isSeen, let used = usedByteCount else {
      return Problem(
        507, "folder_full", "Folder full",
        "A folder above has no room for this write. Its owner sets how much it may hold.",
        members: [.init("owner", .string(owner.description))])
    }
    let needed = used.addingClamped(delta)
    return Problem(
      507, "folder_full", "Folder full",
      "This write needs \(needed) bytes in the folder, which may hold \(capByteCount). Its owner "
        + "sets how much.",
      members: [
        .init("owner", .string(owner.description)),
        .init("folder", .string(folder.description)), .init("used", .integer(used)),
        .init("cap", .integer(capByteCount)), .init("needed", .integer(needed)),
      ])
  }
}
