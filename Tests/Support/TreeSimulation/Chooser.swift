import Base
import SeededRandom
import TestDevices

/// Chooses changes that should be valid in the tree after the batch so far.
///
/// Everything is chosen from the model's lists by number, so that a seed repeats its choices.
struct Chooser {
  var random: SeededGenerator
  let account: Identifier
  let author: [UInt8]
  let current: TreeModel
  /// The model with the batch so far.
  private(set) var draft: TreeModel
  private(set) var files: [FileChange] = []
  private(set) var shares: [ShareChange] = []

  private static let tryCount = 24
  private static let nameCount: UInt8 = 24

  init(_ random: SeededGenerator, by account: Identifier, author: [UInt8], _ model: TreeModel) {
    self.random = random
    self.account = account
    self.author = author
    current = model
    draft = model
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

  mutating func identifier() -> Identifier {
    Identifier(high: random.next(), low: random.next())
  }

  mutating func anyFile() -> Identifier { draft.choices[number(0...draft.choices.count - 1)] }

  mutating func anyAccount() -> Identifier {
    draft.accounts[number(0...draft.accounts.count - 1)]
  }

  mutating func name() -> FileStatement.Name {
    // Few names, so that they collide.
    let hmac =
      chance(40)
      ? [UInt8](repeating: UInt8(number(1...Int(Self.nameCount))), count: 32)
      : random.bytes(count: 32)
    return FileStatement.Name(ciphertext: random.bytes(count: number(1...30)), hmac: hmac)
  }

  /// A file for which `holds` is true; nil if none is found soon. Others' trees are smaller for the account,
  /// so half of the time it searches there first.
  mutating func file(where holds: (TreeModel, Identifier) -> Bool) -> Identifier? {
    let isOthers = chance(50)
    for attempt in 0..<2 * Self.tryCount {
      let id = anyFile()
      if attempt < Self.tryCount, isOthers, draft.files[id]?.owner == account { continue }
      if holds(draft, id) { return id }
    }
    return nil
  }

  mutating func folder(of owner: Identifier? = nil) -> Identifier? {
    let account = account
    return file { draft, id in
      guard let file = draft.files[id], file.type == "folder" else { return false }
      return owner ?? file.owner == file.owner && draft.role(account, id) >= .writer
        && !draft.isDeleted(id)
    }
  }

  /// A file that the account may rename, move and delete, and that the batch does not change so far.
  mutating func changeable(where holds: (TreeModel.File) -> Bool = { _ in true }) -> Identifier? {
    let account = account
    let used = Set(files.map(\.file.id))
    let current = current
    return file { draft, id in
      guard let file = current.files[id], !used.contains(id), holds(file) else { return false }
      return !draft.isRoot(id) && !draft.isDeleted(id)
        && current.role(account, file.parent) >= .writer
    }
  }

  mutating func take(_ change: FileChange) {
    files.append(change)
    draft.make(change.file, author: author)
  }

  mutating func take(_ change: ShareChange) {
    shares.append(change)
    draft.make(change.share)
  }

  /// A change of an existing file.
  func change(_ id: Identifier, _ body: (inout FileStatement) -> Void) -> FileChange? {
    guard let file = current.files[id], let name = file.name, let key = file.key else {
      return nil
    }
    var statement = FileStatement(
      id: id, owner: file.owner, parent: file.parent, type: file.type, name: name, key: key,
      target: file.target)
    body(&statement)
    return FileChange(expect: .at(parent: file.parent, hmac: name.hmac), statement)
  }

  // MARK: Changes that mean to hold

  mutating func chooseFiles() {
    switch number(1...100) {
    case ...38: create()
    case ...48: rename()
    case ...66: move()
    case ...80: delete()
    case ...85: swapNames()
    case ...90: replace()
    default: link()
    }
  }

  mutating func create(_ type: String? = nil, in folder: Identifier? = nil) {
    guard let parent = folder ?? self.folder(), let owner = draft.files[parent]?.owner else {
      return
    }
    let type = type ?? (chance(40) ? "folder" : "document")
    take(
      FileChange(
        FileStatement(
          id: identifier(), owner: owner, parent: parent, type: type, name: name(),
          key: random.bytes(count: 20))))
  }

  private mutating func rename() {
    let name = name()
    guard let id = changeable(), let change = change(id, { $0.name = name }) else { return }
    take(change)
  }

  private mutating func move() {
    guard let id = changeable(), let file = current.files[id],
      let parent = chance(30) ? sharedFolder(of: file.owner) : folder(of: file.owner),
      !draft.chain(parent).contains(id), let change = change(id, { $0.parent = parent })
    else { return }
    take(change)
  }

  /// A folder that others see, because a file that moves there enters their view.
  private mutating func sharedFolder(of owner: Identifier) -> Identifier? {
    let draft = draft
    return anyShare { id, share in
      let file = draft.files[id.file]
      return share.state == "accepted" && file?.owner == owner && file?.type == "folder"
        && !draft.isDeleted(id.file)
    }?.file
  }

  private mutating func delete() {
    let isFolder = chance(15)
    guard let id = changeable(where: { ($0.type == "folder") == isFolder }),
      let change = change(id, { $0.deleted = true })
    else { return }
    take(change)
  }

  private mutating func swapNames() {
    guard let a = changeable(), let first = current.files[a], let one = first.name,
      let b = changeable(where: { $0.parent == first.parent && $0.name != first.name }),
      let other = current.files[b]?.name,
      let there = change(a, { $0.name = other }), let back = change(b, { $0.name = one })
    else { return }
    take(there)
    take(back)
  }

  /// Moves a file away and creates another with its name in its place.
  private mutating func replace() {
    guard let id = changeable(), let file = current.files[id], let name = file.name,
      let parent = folder(of: file.owner), parent != file.parent,
      !draft.chain(parent).contains(id), let change = change(id, { $0.parent = parent })
    else { return }
    take(change)
    let statement = FileStatement(
      id: identifier(), owner: file.owner, parent: file.parent, type: "document", name: name,
      key: random.bytes(count: 20))
    take(FileChange(statement))
  }

  private mutating func link() {
    let account = account
    let (isNew, draft) = (!chance(15), draft)
    let share = anyShare { id, share in
      id.account == account && (isNew ? share.state == "pending" : share.isLive)
        && !draft.isDeleted(id.file)
    }
    guard let share else { return }
    if let old = current.link(of: account, to: share.file) {
      guard chance(40), let change = change(old, { $0.deleted = true }) else { return }
      take(change)
    }
    link(to: share.file)
  }

  private mutating func link(to target: Identifier) {
    guard let parent = folder(of: account) else { return }
    let statement = FileStatement(
      id: identifier(), owner: account, parent: parent, type: "link", name: name(),
      key: random.bytes(count: 20), target: target)
    take(FileChange(statement))
  }

  // MARK: Shares

  mutating func anyShare(
    where holds: (TreeModel.ShareID, TreeModel.Share) -> Bool
  ) -> TreeModel.ShareID? {
    guard !current.shareOrder.isEmpty else { return nil }
    for _ in 0..<Self.tryCount {
      let id = current.shareOrder[number(0...current.shareOrder.count - 1)]
      if let share = current.shares[id], holds(id, share) { return id }
    }
    return nil
  }

  mutating func chooseShare() {
    let account = account
    switch number(1...10) {
    case ...2:
      // Grants again, in whatever state the share is.
      let current = current
      let found = anyShare { id, _ in current.files[id.file]?.owner == account }
      guard let found else { return }
      grant(found.file, to: found.account)
    case ...6:
      let found = file { draft, id in
        let file = draft.files[id]
        return file?.owner == account && file?.type != "link" && !draft.isRoot(id)
          && !draft.isDeleted(id)
      }
      let sharee = anyAccount()
      guard let found, sharee != account else { return }
      grant(found, to: sharee)
    case ...8:
      let current = current
      let found = anyShare { id, share in
        current.files[id.file]?.owner == account && share.state != "revoked"
      }
      guard let found else { return }
      choose(ShareStatement(file: found.file, account: found.account, state: .revoked))
    default:
      guard let found = anyShare(where: { id, share in id.account == account && share.isLive })
      else { return }
      if let link = current.link(of: account, to: found.file),
        let change = change(link, { $0.deleted = true })
      {
        take(change)
        if chance(20) { self.link(to: found.file) }
      }
      choose(ShareStatement(file: found.file, account: account, state: .rejected))
    }
  }

  private mutating func grant(_ file: Identifier, to sharee: Identifier) {
    let state = ShareStatement.State.granted(
      mode: chance(50) ? "write" : "read", key: random.bytes(count: 20))
    choose(ShareStatement(file: file, account: sharee, state: state))
  }

  private mutating func choose(_ statement: ShareStatement) {
    let id = TreeModel.ShareID(file: statement.file, account: statement.account)
    take(ShareChange(expect: current.shares[id]?.state ?? "new", statement))
  }
}
