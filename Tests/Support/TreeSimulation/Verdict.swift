import Base
import TestDevices

/// The expected answer of the server to a batch.
enum Verdict: Equatable {
  case accepted
  /// Every failing change, each with one rule. The server checks in a stated order, so the rule is exact.
  case refused(Set<Failure>)
  /// The codes of the limits that owners would exceed; the server may report any of them first.
  case noRoom(Set<String>)

  private static let curedByPulling: Set = [
    "stale", "file_deleted", "parent_deleted", "share_stale",
  ]

  func allows(status: Int, code: String?, failures: [Failure]) -> Bool {
    switch self {
    case .accepted: return status == 200
    case .noRoom(let codes):
      return code.map(codes.contains) == true && status == (code == "over_cap" ? 507 : 409)
    case .refused(let expected):
      let isStale = expected.contains { Self.curedByPulling.contains($0.rule) }
      return Set(failures) == expected && status == (isStale ? 409 : 422)
        && code == (isStale ? "updates_required" : "batch_refused")
    }
  }
}

/// The rules in the order of the contract: first each change against the present tree, then the resulting
/// place of its file in a copy of the tree with the whole batch applied.
extension TreeModel {
  func judge(
    files changes: [FileChange], shares shareChanges: [ShareChange], by account: Identifier,
    author: [UInt8]
  ) -> (Verdict, after: TreeModel) {
    var after = self
    var failures: Set<Failure> = []
    var passed: [FileStatement] = []
    for change in changes {
      let isTwice = changes.filter { $0.file.id == change.file.id }.count > 1
      let rule = isTwice ? "duplicate_id" : precondition(change, account)
      if let rule { failures.insert(Self.failure(change.file.id, rule)) }
      if rule == nil { passed.append(change.file) }
      // A change that fails because of the present tree is not applied. One that is merely not allowed is
      // applied, so that only changes that are wrong by themselves are reported.
      if !Self.unmade.contains(rule ?? "") { after.make(change.file, author: author) }
    }
    let shared = { (folder: Identifier) in isShared(folder, after: shareChanges.map(\.share)) }
    for file in passed where !file.deleted {
      if let rule = after.place(file, account, before: self, shared) {
        failures.insert(Self.failure(file.id, rule))
      }
    }
    let afterFiles = after
    for change in shareChanges {
      let id = ShareID(file: change.share.file, account: change.share.account)
      let isTwice =
        shareChanges.filter { $0.share.file == id.file && $0.share.account == id.account }
        .count > 1
      if let rule = isTwice ? "duplicate_id" : afterFiles.share(change, account, before: self) {
        failures.insert(Self.failure(id.file, rule, account: id.account))
      }
      after.make(change.share)
    }
    guard failures.isEmpty else { return (.refused(failures), self) }
    after.followLinks()
    let lacking = after.lacking(since: self)
    return lacking.isEmpty ? (.accepted, after) : (.noRoom(lacking), self)
  }

  private static let unmade: Set = [
    "id_taken", "one_root", "file_not_found", "root_immutable", "duplicate_id", "file_deleted",
  ]

  private static func failure(
    _ file: Identifier, _ rule: String, account: Identifier? = nil
  ) -> Failure {
    Failure(file: file.description, account: account?.description, rule: rule)
  }

  /// Checks a change against the present tree.
  private func precondition(_ change: FileChange, _ account: Identifier) -> String? {
    let statement = change.file
    let isVisible = role(account, statement.id) > .stranger
    let isForged = change.signature != nil
    guard case .at(let parent, let hmac) = change.expect else {
      if files[statement.id] != nil { return isVisible ? "stale" : "id_taken" }
      if statement.parent == statement.id { return "one_root" }
      if statement.deleted { return "file_not_found" }
      return isForged ? "signature_invalid" : nil
    }
    guard let file = files[statement.id], isVisible else { return "file_not_found" }
    if isRoot(statement.id) { return "root_immutable" }
    if isDeleted(statement.id) { return "file_deleted" }
    if statement.type != file.type { return "type_immutable" }
    if statement.owner != file.owner { return "owner_immutable" }
    if statement.target != file.target { return "target_immutable" }
    if role(account, file.parent) < .writer { return "not_permitted" }
    if parent != file.parent || hmac != file.name?.hmac { return "stale" }
    let isSame =
      statement.parent == file.parent && statement.name == file.name && statement.key == file.key
    if statement.deleted, !isSame { return "deletion_changes_record" }
    return isForged ? "signature_invalid" : nil
  }

  /// Checks a file against the tree that the batch would leave.
  private func place(
    _ statement: FileStatement, _ account: Identifier, before: TreeModel,
    _ isShared: (Identifier) -> Bool
  ) -> String? {
    let isNew = before.files[statement.parent] == nil
    guard let parent = files[statement.parent],
      isNew || before.role(account, statement.parent) > .stranger
    else { return "parent_not_found" }
    if parent.type != "folder" { return "parent_not_folder" }
    if parent.owner != statement.owner { return "owner_differs" }
    let above = chain(statement.parent)
    // Access to a new folder is the access to the first existing folder above it.
    let lowest = above.first { before.files[$0] != nil }
    if let lowest, before.role(account, lowest) < .writer { return "not_permitted" }
    if above.contains(statement.id) { return "cycle" }
    if above.contains(where: { files[$0]?.isMarked == true }) { return "parent_deleted" }
    if let last = above.last, !isRoot(last) {
      return files[last].map { files[$0.parent] == nil } == true ? "parent_not_found" : "cycle"
    }
    if above.count + before.levels(beneath: statement.id) > Self.depthMax { return "too_deep" }
    let isTaken = files.contains { id, file in
      id != statement.id && file.parent == statement.parent && !file.isMarked
        && file.name?.hmac == statement.name.hmac
    }
    if isTaken { return "name_taken" }
    let isShared = above.contains(where: isShared)
    let isMoved = before.files[statement.id].map { $0.parent != statement.parent } ?? false
    switch statement.type {
    case "folder" where isMoved && isShared && hasLiveLink(beneath: statement.id, before):
      return "link_in_shared_folder"
    case "link":
      if statement.owner != account { return "link_not_own_tree" }
      if before.files[statement.id] == nil, let rule = link(statement, account, before: before) {
        return rule
      }
      return isShared ? "link_in_shared_folder" : nil
    default: return nil
    }
  }

  private func link(
    _ statement: FileStatement, _ account: Identifier, before: TreeModel
  ) -> String? {
    guard let target = statement.target, let file = before.files[target] else {
      return "link_target_not_found"
    }
    if file.owner == account { return "link_target_owned" }
    let share = before.shares[ShareID(file: target, account: account)]
    if share?.isLive != true || before.isDeleted(target) { return "link_target_not_found" }
    // The account's own link, and any other that this batch would create.
    let links = files.filter { id, file in
      file.target == target && !file.isMarked
        && before.files[id].map { $0.owner == account && $0.target == target } ?? true
    }
    return links.count > 1 ? "link_exists" : nil
  }

  /// Checks a share change against the files that the batch would leave, and the present shares.
  private func share(
    _ change: ShareChange, _ account: Identifier, before: TreeModel
  ) -> String? {
    let statement = change.share
    let isNew = before.files[statement.file] == nil
    guard let file = files[statement.file],
      isNew || before.role(account, statement.file) > .stranger
    else { return "file_not_found" }
    if before.isRoot(statement.file) { return "root_immutable" }
    if file.type == "link" { return "link_not_shareable" }
    if isDeleted(statement.file) { return "file_deleted" }
    if statement.state == .rejected {
      if statement.account != account { return "not_permitted" }
    } else {
      if file.owner != account { return "not_owner" }
      if statement.account == account { return "share_with_owner" }
    }
    let share = shares[ShareID(file: statement.file, account: statement.account)]
    if (share?.state ?? "new") != change.expect {
      return share == nil ? "share_not_found" : "share_stale"
    }
    if change.signature != nil { return "signature_invalid" }
    switch statement.state {
    case .granted:
      if !accounts.contains(statement.account) { return "account_not_found" }
      return hasLiveLink(beneath: statement.file, before) ? "link_in_shared_folder" : nil
    case .revoked:
      if share == nil { return "share_not_found" }
      return share?.state == "revoked" ? "share_stale" : nil
    case .rejected:
      if share?.isLive != true { return "share_stale" }
      return link(of: account, to: statement.file) == nil ? nil : "link_exists"
    }
  }

  private func lacking(since before: TreeModel) -> Set<String> {
    var codes: Set<String> = []
    for owner in accounts {
      let usage = usage(of: owner)
      if usage > before.usage(of: owner), usage > caps[owner] ?? 0 { codes.insert("over_cap") }
      let count = recordCount(of: owner)
      if count > before.recordCount(of: owner), count > recordCountMax {
        codes.insert("too_many_records")
      }
    }
    return codes
  }

  /// The expected status for new content, checked in the server's order.
  func contentStatus(
    _ id: Identifier, _ account: Identifier, ifMatch: String, byteCount: Int
  ) -> Int {
    guard let file = files[id], role(account, id) > .stranger else { return 404 }
    if isDeleted(id) { return 410 }
    if file.type != "document" { return 409 }
    if role(account, id) < .writer { return 403 }
    if ifMatch != "*", ifMatch != "\"\(file.contentVersion)\"" { return 412 }
    let delta = Int64(byteCount - file.content.count)
    return delta > 0 && usage(of: file.owner) + delta > caps[file.owner] ?? 0 ? 507 : 200
  }
}

extension ShareChange {
  var isGrant: Bool { if case .granted = share.state { true } else { false } }
}
