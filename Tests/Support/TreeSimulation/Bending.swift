import Base
import SeededRandom
import TestDevices

/// Makes changes wrong, or at least unusual.
extension Chooser {
  mutating func bend(_ change: inout FileChange) {
    let stranger = anyFile()
    // Few changes are links.
    switch change.file.type == "link" && chance(50) ? [2, 3, 8, 9][number(0...3)] : number(1...18) {
    case 1: setType(["folder", "document", "link"][number(0...2)], &change.file)
    case 2: change.file.owner = anyAccount()
    case 3: if change.file.type == "link" { change.file.target = stranger }
    case 4: change.signature = random.bytes(count: 64)
    case 5: change.expect = .at(parent: stranger, hmac: change.file.name.hmac)
    case 6: change.expect = .at(parent: change.file.parent, hmac: random.bytes(count: 32))
    case 7: change.expect = .new
    case 8: change.file.id = stranger
    case 9: change.file.parent = chance(80) ? stranger : identifier()
    case 10: change.file.name = name()
    case 11: change.file.parent = change.file.id
    case 12: change.file.deleted.toggle()
    case 13: change.file.key = random.bytes(count: 20)
    case 14: impersonate(&change, stranger)
    case 15: moveBeneathItself(&change)
    case 16, 17:
      let account = account
      let visible = file { draft, id in
        TreeModel.Role.invited...TreeModel.Role.writer ~= draft.role(account, id)
      }
      if let visible { impersonate(&change, visible) }
    default:
      if files.count > 1 { change.file.parent = files[number(0...files.count - 1)].file.id }
    }
  }

  private func setType(_ type: String, _ file: inout FileStatement) {
    file.target = type == "link" ? file.target ?? file.parent : nil
    file.type = type
  }

  /// A change of any file of any tree, in its place, as if the account were allowed to change it.
  private mutating func impersonate(_ change: inout FileChange, _ id: Identifier) {
    let (name, isDeletion) = (name(), chance(50))
    let bent = self.change(id) { file in
      if isDeletion { file.deleted = true } else { file.name = name }
    }
    if let bent { change = bent }
  }

  private mutating func moveBeneathItself(_ change: inout FileChange) {
    let id = change.file.id
    if let folder = file(where: { draft, folder in draft.chain(folder).contains(id) }) {
      change.file.parent = folder
    }
  }

  mutating func bend(_ change: inout ShareChange) {
    switch number(1...7) {
    case 1: change.expect = ["new", "pending", "accepted", "rejected", "revoked"][number(0...4)]
    case 2:
      let other = file { draft, id in draft.isRoot(id) || draft.files[id]?.target != nil }
      change.share.file = [other ?? anyFile(), anyFile(), anyFile(), identifier()][number(0...3)]
    case 3: change.share.account = chance(60) ? anyAccount() : identifier()
    case 4: change.signature = random.bytes(count: 64)
    case 5: change.share.state = .rejected
    case 6: change.share.state = .revoked
    default:
      change.share.state = .granted(mode: "write", key: random.bytes(count: 20))
    }
  }

  /// A whole batch. Most are meant to be accepted; the others are altered here and there.
  mutating func batch() -> (files: [FileChange], shares: [ShareChange]) {
    if chance(3) {
      deepen()
    } else {
      if chance(80) { for _ in 0..<number(1...5) { chooseFiles() } }
      if chance(30) { for _ in 0..<number(1...2) { chooseShare() } }
    }
    var (bentFiles, bentShares) = (files, shares)
    if chance(40) {
      for index in bentFiles.indices where chance(30) { bend(&bentFiles[index]) }
      for index in bentShares.indices where chance(40) { bend(&bentShares[index]) }
      if chance(5), let first = bentFiles.first { bentFiles.append(first) }
      if chance(5), let first = bentShares.first { bentShares.append(first) }
    }
    // Neither the order nor the position of a change matters.
    bentFiles.shuffle(using: &random)
    bentShares.shuffle(using: &random)
    return (bentFiles, bentShares)
  }

  /// Creates a long chain of folders, so that the levels below and above may be too deep together.
  private mutating func deepen() {
    let candidates = (0..<8).compactMap { _ in folder() }
    let deepest = candidates.max { draft.chain($0).count < draft.chain($1).count }
    guard var folder = deepest else { return }
    for _ in 0..<number(10...125) {
      create("folder", in: folder)
      if let last = files.last { folder = last.file.id }
    }
  }
}
