internal import Base
package import HTTPMessages
internal import JSON
internal import Requests
package import Tiers

extension Refusal {
  /// The response to the client, with the status from the table of `RefusalCode`.
  package func problem(catalogue: Catalogue) -> Problem {
    switch self {
    case .batchTooLarge(let max):
      return Problem(
        .batchTooLarge,
        "A batch changes at most \(max) files and shares. Nothing was written; send several.")
    case .batchTooCostly:
      return Problem(
        .batchTooCostly,
        "The changes concern more of the trees than one batch may: deep folders, accounts, folders "
          + "whose levels have to be counted. Nothing was written; send half of them at a time.")
    case .batchRefused(let failures): return Self.batchRefused(failures)
    case .sharingLimited(let seconds):
      return Problem(
        .sharingLimited,
        "A young or free account invites only so many strangers a day.",
        retryAfterSeconds: seconds)
    case .tooManyRecords(let max):
      return Problem(.tooManyRecords, "The owner's tree holds at most \(max) files. Delete some.")
    case .tooManyShares(let max):
      return Problem(
        .tooManyShares, "The owner's plan allows \(max) shares, pending ones included.",
        members: [.init("max", .integer(max))])
    case .fileTooLarge(let max):
      return Problem(
        .fileTooLarge, "The owner's plan allows \(max) bytes for one document. Nothing was stored.",
        members: [.init("max", .integer(max))])
    case .registrationClosed:
      return Problem(.registrationClosed, "Only the operator of this server opens accounts.")
    case .registrationLimited(let seconds):
      return Problem(
        .registrationLimited,
        "So many accounts were asked for from this address that the next must wait.",
        retryAfterSeconds: seconds)
    case .inviteRequired:
      return Problem(
        .inviteRequired,
        "Accounts are opened by an invite of the operator's: send its code as invite.")
    case .inviteInvalid:
      return Problem(.inviteInvalid, "The invite is unknown, used up, expired or revoked.")
    case .usernameTaken:
      return Problem(.usernameTaken, "Another account has this username.")
    case .accountExists:
      return Problem(.accountExists, "An account with this id exists.")
    case .tooManyKeys(let max):
      return Problem(.tooManyKeys, "An account holds at most \(max) keys. Revoke one.")
    case .keysUsedUp(let max):
      return Problem(
        .keysUsedUp, "An account has at most \(max) keys in its life, revoked ones included.")
    case .tooManyBlocks(let max):
      return Problem(.tooManyBlocks, "An account blocks at most \(max) others.")
    case .keyRegistered:
      return Problem(.keyRegistered, "An account has registered this key.")
    case .lastKey:
      return Problem(.lastKey, "An account keeps at least one key. Add another one first.")
    case .keyNotFound:
      return Problem(.keyNotFound, "This account has no such key.")
    case .sessionNotFound:
      return Problem(.sessionNotFound, "There is no such session.")
    case .accountSuspended(let isCallers):
      return Problem(
        .accountSuspended,
        (isCallers ? "The operator lets this account" : "The operator lets the owner's account")
          + " write nothing for now. Reading and deleting go on.")
    case .accountLeaving(let departure, true):
      return Problem(
        .accountLeaving, departure.detail + " Reading and deleting go on.",
        members: departure.members)
    case .accountLeaving(let departure, false):
      return Problem(
        .accountLeaving,
        "The owner's account is being deleted. Copy what you need from it.",
        members: [.init("erases", departure.erases.map { .string($0.description) } ?? .null)])
    case .accountNotFound:
      return Problem(.accountNotFound, "There is no such account.")
    case .queryInvalid:
      return Problem(.queryInvalid, "Give exactly one of username, account or key.")
    case .fileNotFound:
      return Problem(.fileNotFound, "There is no such file.")
    case .fileExists:
      return Problem(.fileExists, "A file with this id exists.")
    case .fileDeleted:
      return Problem(.fileDeleted, "The file is deleted, by itself or with a folder above it.")
    case .notPermitted:
      return Problem(.notPermitted, "The caller may see this file but not change it.")
    case .notADocument:
      return Problem(.notADocument, "Only documents have content.")
    case .preconditionRequired:
      return Problem(
        .preconditionRequired,
        "Send If-Match with the content version this write replaces; \"0\" for the first content.")
    case .versionChanged(let current):
      return Problem(
        .versionChanged,
        "The content is at version \(current). Fetch it, merge, and write again.",
        members: [.init("current_version", .integer(current))])
    case .overCap(let overCap): return overCap.problem(catalogue: catalogue)
    case .tooManyUploads(let max):
      return Problem(
        .tooManyUploads,
        "The account has \(max) uploads under way. Wait for one to end.", retryAfterSeconds: 10)
    case .reservationExpired:
      return Problem(
        .reservationExpired,
        "The upload's reservation has ended. Nothing was stored; send it again.")
    case .tooMuchReplaced(let seconds):
      return Problem(
        .tooMuchReplaced,
        "Content that was replaced or deleted is still being cleared away. Nothing was stored.",
        retryAfterSeconds: seconds)
    case .creationLimited(let seconds):
      return Problem(
        .creationLimited,
        "Many more files were made than the owner's cap holds. Nothing was written.",
        retryAfterSeconds: seconds)
    case .uploadSuperseded:
      return Problem(
        .uploadSuperseded,
        "The same upload was sent again, and that attempt goes on. Nothing was stored by this one.")
    case .cursorInvalid:
      return Problem(
        .cursorInvalid, "The cursor is not valid for this account. Start again without `since`.")
    case .historyChanged:
      return Problem(
        .historyChanged,
        "The server's history has changed. Fetch everything again, without a cursor.")
    case .cursorExpired:
      return Problem(
        .cursorExpired,
        "Deletions since this cursor are no longer told. Fetch everything again, without a cursor.")
    case .contentMissing:
      return Problem(
        .contentMissing,
        "The content cannot be read at the moment.", retryAfterSeconds: 5)
    case .limitInvalid:
      return Problem(.limitInvalid, "limit must be a number from 1 to \(Updates.limitMax).")
    }
  }

  /// 409 if pulling and merging may fix it, otherwise 422. Both name every failing change.
  private static func batchRefused(_ failures: [Failure]) -> Problem {
    let members = JSONValue.Member(
      "failures",
      .array(
        failures.map { failure in
          var members: [JSONValue.Member] = [.init("file", .string(failure.file.description))]
          if let account = failure.account {
            members.append(.init("account", .string(account.description)))
          }
          members.append(.init("rule", .string(failure.rule.rawValue)))
          members.append(.init("detail", .string(failure.rule.sentence)))
          return .object(members)
        }))
    let stale = failures.filter(\.rule.isCuredByPulling)
    guard !stale.isEmpty else {
      return Problem(
        .batchRefused,
        "Changes of this batch break rules of the tree. Nothing was written.", members: [members])
    }
    let files = stale.map { JSONValue.string($0.file.description) }
    return Problem(
      .updatesRequired,
      "Files changed meanwhile. Nothing was written: pull, merge, and send what is left to do.",
      members: [.init("files", .array(files)), members])
  }
}

extension Problem {
  fileprivate init(
    _ code: RefusalCode, _ detail: String, members: [JSONValue.Member] = [],
    retryAfterSeconds: Int? = nil
  ) {
    self = code.row.problem(
      code.rawValue, detail, members: members, retryAfterSeconds: retryAfterSeconds)
  }
}

extension OverCap {
  /// 507 always means quota. The reason for the cap tells a declined card from a full account.
  fileprivate func problem(catalogue: Catalogue) -> Problem {
    guard isCallers else {
      return Problem(
        .overCap,
        "The owner of this tree has no room for this write.",
        members: [.init("owner", .string(owner.description))])
    }
    let fitting = catalogue.plansThatFit(neededByteCount, beside: capByteCount).map { plan in
      JSONValue.object([
        .init("id", .string(plan.id)), .init("title", .string(plan.title)),
        .init("bytes", .integer(plan.byteCount)),
      ])
    }
    return Problem(
      .overCap, sentence,
      members: [
        .init("owner", .string(owner.description)), .init("usage", .integer(usageByteCount)),
        .init("cap", .integer(capByteCount)), .init("needed", .integer(neededByteCount)),
        .init("reason", .string(reason.rawValue)), .init("plan", .string(planID)),
        .init("plans", .array(fitting)),
      ])
  }

  private var sentence: String {
    let need = "This write needs \(neededByteCount) bytes and the cap is \(capByteCount)."
    switch reason {
    case .paymentFailed:
      return need + " The cap is low because the last payment failed: update the payment method."
    case .lapsed: return need + " The cap is low because the subscription has ended."
    case .quotaSet: return need + " The cap was set by the operator of this server."
    case .grantRevoked:
      return need + " The cap is low because a plan that was given was taken back."
    case .refunded: return need + " The cap is low because the subscription was refunded."
    case .disputed: return need + " The cap is low because the payment is disputed."
    default: return need
    }
  }
}
