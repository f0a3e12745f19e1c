import Base
import TestDevices

/// The expected tree of every account: plain dictionaries, and each question is answered from scratch.
struct TreeModel {
  struct File {
    var owner: Identifier
    var parent: Identifier
    var type: String
    var target: Identifier?
    /// Nil for a root, like key and author.
    var name: FileStatement.Name?
    var key: [UInt8]?
    var author: [UInt8]?
    /// The explicit mark, by an author or by the sweep.
    var isMarked = false
    /// The folder whose deletion included this file, if no author deleted it.
    var deletedWith: Identifier?
    /// The server's number of the content; 0 before the first content.
    var contentVersion: Int64 = 0
    var content: [UInt8] = []
  }

  struct Share: Equatable {
    var mode: String
    var state: String
    var key: [UInt8]?

    var isLive: Bool { state == "pending" || state == "accepted" }
  }

  struct ShareID: Hashable {
    let file: Identifier
    let account: Identifier
  }

  enum Role: Int, Comparable {
    case stranger, invited, reader, writer, owner

    static func < (a: Role, b: Role) -> Bool { a.rawValue < b.rawValue }
  }

  static let depthMax = 128
  static let feeByteCount: Int64 = 1000

  let recordCountMax: Int64
  private(set) var accounts: [Identifier] = []
  var caps: [Identifier: Int64] = [:]
  var files: [Identifier: File] = [:]
  var shares: [ShareID: Share] = [:]
  /// All files and all shares in order of arrival.
  private(set) var order: [Identifier] = []
  /// The files that a seed chooses from.
  private(set) var choices: [Identifier] = []
  private(set) var shareOrder: [ShareID] = []

  init(recordCountMax: Int64) { self.recordCountMax = recordCountMax }

  mutating func open(_ account: Identifier, root: Identifier, cap: Int64) {
    accounts.append(account)
    caps[account] = cap
    files[root] = File(owner: account, parent: root, type: "folder")
    order.append(root)
    choices.append(root)
  }

  /// A folder with more in it than stories use: they often choose the folder and leave its content alone.
  mutating func fill(_ folder: FileStatement, with documents: [FileStatement], author: [UInt8]) {
    make(folder, author: author)
    let chosen = choices
    for document in documents { make(document, author: author) }
    choices = chosen + repeatElement(folder.id, count: 20)
  }

  // MARK: Questions

  /// The file and all above it, nearest first. Ends before a file that is missing or would repeat.
  func chain(_ id: Identifier) -> [Identifier] {
    var chain: [Identifier] = []
    var met: Set<Identifier> = []
    var next = id
    while let file = files[next], met.insert(next).inserted {
      chain.append(next)
      next = file.parent
    }
    return chain
  }

  func isRoot(_ id: Identifier) -> Bool { files[id]?.parent == id }

  /// Whether the file or a folder above it is marked.
  func isDeleted(_ id: Identifier) -> Bool { chain(id).contains { files[$0]?.isMarked == true } }

  /// The effective deletion, whether or not the sweep has reached the file.
  struct Deletion {
    var isDeleted = false
    /// The folder whose deletion included the file.
    var with: Identifier?
  }

  func deletion(of id: Identifier) -> Deletion {
    guard let nearest = chain(id).first(where: { files[$0]?.isMarked == true }) else {
      return Deletion()
    }
    let with = files[nearest]?.deletedWith
    return Deletion(isDeleted: true, with: nearest == id ? with : with ?? nearest)
  }

  func role(_ account: Identifier, _ id: Identifier) -> Role {
    guard let file = files[id] else { return .stranger }
    guard file.owner != account else { return .owner }
    let accepted = chain(id).compactMap { shares[ShareID(file: $0, account: account)] }
      .filter { $0.state == "accepted" }
    if accepted.contains(where: { $0.mode == "write" }) { return .writer }
    if !accepted.isEmpty { return .reader }
    let own = shares[ShareID(file: id, account: account)]
    return own?.state == "pending" ? .invited : .stranger
  }

  /// The files that a client may show after it has pulled everything. It knows no mark above the files that
  /// it may see. Of a file to which it is invited it may know only that file.
  func tree(of account: Identifier) -> Set<Identifier> {
    let roles = Dictionary(uniqueKeysWithValues: order.map { ($0, role(account, $0)) })
    let visible = order.filter { roles[$0] ?? .stranger > .stranger }
    return Set(
      visible.filter { id in
        let isInvited = shares[ShareID(file: id, account: account)]?.state == "pending"
        let known = chain(id).prefix { roles[$0] ?? .stranger > .stranger }
        return (isInvited ? [id] : known).allSatisfy { files[$0]?.isMarked == false }
      })
  }

  /// The number of levels of unmarked files below a file.
  func levels(beneath id: Identifier) -> Int {
    let unmarked = files.keys.filter { files[$0]?.isMarked == false && !isRoot($0) }
    let children = Dictionary(grouping: unmarked) { files[$0]?.parent }
    func levels(_ id: Identifier) -> Int { children[id]?.map { 1 + levels($0) }.max() ?? 0 }
    return levels(id)
  }

  /// The link by which an account accepted a share. While it is unmarked, the share is accepted.
  func link(of account: Identifier, to target: Identifier) -> Identifier? {
    files.first { $0.value.owner == account && $0.value.target == target && !$0.value.isMarked }?
      .key
  }

  /// Whether an existing link is below a folder; a new link breaks a rule itself.
  func hasLiveLink(beneath folder: Identifier, _ before: TreeModel) -> Bool {
    before.files.contains { id, link in
      link.target != nil && link.owner == files[folder]?.owner && !isDeleted(id)
        && chain(id).contains(folder)
    }
  }

  /// Whether the file has a live share after these changes, allowed or not.
  func isShared(_ id: Identifier, after changes: [ShareStatement]) -> Bool {
    let own = changes.filter { $0.file == id }
    if own.contains(where: { if case .granted = $0.state { true } else { false } }) { return true }
    let ended = Set(own.map(\.account))
    return accounts.contains { account in
      !ended.contains(account) && shares[ShareID(file: id, account: account)]?.isLive == true
    }
  }

  func usage(of owner: Identifier) -> Int64 {
    files.values.filter { $0.owner == owner && !$0.isMarked }
      .reduce(0) { $0 + Self.feeByteCount + Int64($1.content.count) }
  }

  func recordCount(of owner: Identifier) -> Int64 {
    Int64(files.values.filter { $0.owner == owner && !$0.isMarked }.count)
  }

  // MARK: Changes

  mutating func make(_ statement: FileStatement, author: [UInt8]) {
    if files[statement.id] == nil {
      order.append(statement.id)
      choices.append(statement.id)
    }
    var file =
      files[statement.id]
      ?? File(owner: statement.owner, parent: statement.parent, type: statement.type)
    (file.owner, file.parent, file.type) = (statement.owner, statement.parent, statement.type)
    (file.name, file.key, file.target) = (statement.name, statement.key, statement.target)
    (file.author, file.isMarked) = (author, statement.deleted)
    if file.isMarked { file.content = [] }
    files[statement.id] = file
  }

  mutating func make(_ statement: ShareStatement) {
    let id = ShareID(file: statement.file, account: statement.account)
    if shares[id] == nil { shareOrder.append(id) }
    var share = shares[id] ?? Share(mode: "read", state: "pending", key: nil)
    switch statement.state {
    case .granted(let mode, let key):
      if !share.isLive { share.state = "pending" }
      (share.mode, share.key) = (mode, key)
    case .revoked: (share.state, share.key) = ("revoked", nil)
    case .rejected: (share.state, share.key) = ("rejected", nil)
    }
    shares[id] = share
  }

  /// A live share is accepted exactly while a link of the sharee leads to it.
  mutating func followLinks() {
    for (id, share) in shares where share.isLive {
      let state = link(of: id.account, to: id.file) == nil ? "pending" : "accepted"
      shares[id]?.state = state
    }
  }

  /// For an unmarked file below a marked folder, which the sweep may mark: the nearest folder that someone
  /// deleted. Nil for any other file.
  func deletion(above id: Identifier) -> Identifier? {
    guard files[id]?.isMarked == false else { return nil }
    return chain(id).dropFirst().first { above in
      files[above]?.isMarked == true && files[above]?.deletedWith == nil
    }
  }

  /// Applies the marks of a sweep, each with the folder that the sweep reported.
  mutating func mark(_ swept: [Identifier: Identifier?]) {
    for (id, folder) in swept {
      files[id]?.isMarked = true
      files[id]?.deletedWith = folder
      files[id]?.content = []
    }
    followLinks()
  }
}
