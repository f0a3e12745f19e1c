import Accounts
import Base
import Sync

/// A world of a few files and accounts, identified by small numbers, as simple as possible.
struct SmallWorld {
  struct File {
    var id: Int
    var owner: Int
    /// A root is its own parent.
    var parent: Int
    var kind: FileRecord.Kind
    /// 0 for a root.
    var name: Int
    var isDeleted = false
    var target: Int?
  }

  struct Access: Equatable {
    var mode: Share.Mode
    var state: Share.State
  }

  struct Pair: Hashable {
    let file: Int
    let account: Int
  }

  static let (alice, bob, carol, nobody) = (1, 2, 3, 99)
  static let (aliceRoot, bobRoot, carolRoot) = (100, 200, 300)
  /// The id of a file that does not exist.
  static let missing = 999

  private(set) var files: [Int: File] = [:]
  var shares: [Pair: Access] = [:]
  /// The ids of forgotten files.
  var remembered: Set<Int> = []

  init() {
    for (root, owner) in [
      (Self.aliceRoot, Self.alice), (Self.bobRoot, Self.bob), (Self.carolRoot, Self.carol),
    ] {
      add(File(id: root, owner: owner, parent: root, kind: .folder, name: 0))
    }
  }

  mutating func add(_ file: File) { files[file.id] = file }

  // MARK: What is true of it

  /// The file and all above it, nearest first; empty if the file does not exist.
  func chain(_ id: Int) -> [File] {
    var chain: [File] = []
    var next = files[id]
    while let file = next, chain.count <= files.count {
      chain.append(file)
      next = file.parent == file.id ? nil : files[file.parent]
    }
    return chain
  }

  func isDead(_ id: Int) -> Bool { chain(id).contains(where: \.isDeleted) }

  func isRoot(_ id: Int) -> Bool { files[id].map { $0.parent == id } ?? false }

  func state(_ file: Int, _ account: Int) -> Share.State? {
    shares[Pair(file: file, account: account)]?.state
  }

  private func accepted(_ account: Int, _ id: Int) -> [Share.Mode] {
    chain(id).compactMap { shares[Pair(file: $0.id, account: account)] }
      .filter { $0.state == .accepted }.map(\.mode)
  }

  func sees(_ account: Int, _ id: Int) -> Bool {
    files[id]?.owner == account || !accepted(account, id).isEmpty
      || files[id] != nil && state(id, account) == .pending
  }

  func writes(_ account: Int, _ id: Int) -> Bool {
    files[id]?.owner == account || accepted(account, id).contains(.write)
  }

  /// Whether a folder of the name is there, or another file.
  func holds(_ parent: Int, _ name: Int, but id: Int) -> Bool {
    files.values.contains {
      $0.parent == parent && $0.name == name && $0.id != id && !$0.isDeleted
    }
  }

  /// Whether a live link is below a folder.
  func hasLink(beneath folder: Int) -> Bool {
    files.values.contains { file in
      file.kind == .link && !isDead(file.id)
        && chain(file.id).dropFirst().contains { $0.id == folder }
    }
  }

  /// Whether the file or a folder above it has a live share, with any account.
  func isShared(_ id: Int) -> Bool {
    let above = Set(chain(id).map(\.id))
    return shares.contains { above.contains($0.key.file) && $0.value.state.isLive }
  }

  // MARK: What the rules are given of it

  static func id(_ number: Int) -> Identifier { Identifier(high: 0, low: UInt64(number)) }

  static func hmac(_ name: Int) -> [UInt8] { [UInt8(name)] }

  static func name(_ name: Int) -> FileRecord.Name {
    FileRecord.Name(ciphertext: hmac(name), hmac: hmac(name))
  }

  /// The whole world as the account sees it; the rules may ask for less. `heights` are the heights that
  /// folders claim to have.
  func snapshot(seenBy caller: Int, heights: [Int: Int64] = [:]) -> BatchSnapshot {
    var snapshot = BatchSnapshot(seenBy: Self.id(caller))
    for file in files.values {
      let (id, owner, parent) = (Self.id(file.id), Self.id(file.owner), Self.id(file.parent))
      let (name, target) = (isRoot(file.id) ? nil : file.name, file.target.map(Self.id))
      let share = shares[Pair(file: file.id, account: caller)]
      snapshot.tree.insert(
        AncestorTree.Node(
          id: id, owner: owner, parent: parent, kind: file.kind, target: target,
          hmac: name.map(Self.hmac), isDeleted: file.isDeleted, deletedWith: nil,
          height: heights[file.id] ?? 0,
          share: share.map { ($0.mode, $0.state) },
          hasLiveShares: shares.contains { $0.key.file == file.id && $0.value.state.isLive }))
      snapshot.records[id] = FileRecord(
        id: id, owner: owner, parent: parent, kind: file.kind, target: target,
        name: name.map(Self.name), key: [1], author: nil, sequence: 1, contentVersion: 0,
        contentByteCount: 0, objectID: nil, isDeleted: file.isDeleted, deletedWith: nil)
      if let name, !file.isDeleted {
        snapshot.nameHolders[.init(parent: parent, hmac: Self.hmac(name))] = id
      }
      if let target, !file.isDeleted {
        snapshot.links[owner, default: []].append((id, target))
      }
    }
    for (pair, access) in shares {
      let file = Self.id(pair.file)
      snapshot.shareStates[.init(file: file, account: Self.id(pair.account))] = access.state
      snapshot.shareCounts[file, default: .init()].all += 1
      if access.state.isLive { snapshot.shareCounts[file, default: .init()].live += 1 }
    }
    snapshot.rememberedIDs = Set(remembered.map(Self.id))
    for account in [Self.alice, Self.bob, Self.carol] { snapshot.numbers[Self.id(account)] = 1 }
    return snapshot
  }
}

/// One change of a file, given by small numbers.
struct SmallChange {
  enum Expectation { case new, at(parent: Int, name: Int) }

  var expectation: Expectation
  var file: SmallWorld.File
  var isSigned = true

  var change: Batch.FileChange {
    let expectation: Batch.Expectation =
      switch self.expectation {
      case .new: .new
      case .at(let parent, let name):
        .at(parent: SmallWorld.id(parent), hmac: SmallWorld.hmac(name))
      }
    return Batch.FileChange(
      expectation: expectation,
      statement: FileRecord.Statement(
        id: SmallWorld.id(file.id), owner: SmallWorld.id(file.owner),
        parent: SmallWorld.id(file.parent), kind: file.kind, name: SmallWorld.name(file.name),
        key: [1], isDeleted: file.isDeleted, target: file.target.map(SmallWorld.id)),
      signature: [], isSigned: isSigned)
  }
}

/// One change of a share.
struct SmallGrant {
  enum Action: CaseIterable { case grant, revoke, reject }

  var action: Action
  var file: Int
  var account: Int
  var expectation: Share.State?
  var isSigned = true

  var change: Batch.ShareChange {
    let action: Share.Statement.Action =
      switch self.action {
      case .grant: .grant(mode: .read, key: [1])
      case .revoke: .revoke
      case .reject: .reject
      }
    return Batch.ShareChange(
      expectation: expectation,
      statement: Share.Statement(
        file: SmallWorld.id(file), account: SmallWorld.id(account), action: action),
      signature: [], isSigned: isSigned)
  }
}

/// The rules that a batch breaks, in the order in which they are reported; none if the batch is accepted.
func broken(
  _ snapshot: BatchSnapshot, files: [SmallChange] = [], shares: [SmallGrant] = []
) throws -> [Rule] {
  let batch = Batch(author: [], files: files.map(\.change), shares: shares.map(\.change))
  do throws(Refusal) {
    _ = try BatchRules.judge(batch, snapshot)
    return []
  } catch {
    guard case .batchRefused(let failures) = error else { throw error }
    return failures.map(\.rule)
  }
}
