import Base
import Tiers

/// What background work has done since the rows were last looked at, held against what it may do by now.
extension ContentModel {
  /// Follows the rows. Returns every difference that no rule allows.
  mutating func adopt(_ rows: ContentRows, at now: Instant) -> [String] {
    // Before anything is taken, since that is what made the work necessary.
    let full = Set(accounts.filter { $0.value.purges && usage($0.key) > $0.value.cap }.keys)
    var faults = adoptTrash(rows, full, at: now)
    for id in order { faults += adopt(id, rows, full, at: now) }
    faults += adoptVersions(rows, full, at: now)
    for (root, entry) in trash where rows.trash[root] == nil {
      let isLeft = nodes.values.contains { $0.place == .trashed(root) }
      if isLeft { faults.append("\(root) left the trash as \(entry), and files of it did not") }
      trash[root] = nil
    }
    for (id, account) in rows.accounts where account.kept > 8 << 20 { crowded.insert(id) }
    return faults + differences(rows, at: now)
  }

  /// Whether the owner's plans keep what was deleted with `root` no longer.
  func isDue(_ root: Identifier, at now: Instant) -> Bool {
    guard let entry = trash[root], let owner = nodes[root]?.owner else { return false }
    return end(of: entry.deleted, owner, \.trashDays) <= now
  }

  private mutating func adoptTrash(
    _ rows: ContentRows, _ full: Set<Identifier>, at now: Instant
  ) -> [String] {
    var faults: [String] = []
    for root in rows.trash.keys where trash[root] == nil {
      faults.append("\(root) is in the trash, and no one deleted it")
    }
    for (root, entry) in trash {
      let found = rows.trash[root]
      if found == entry.state.rawValue { continue }
      let isDue = isDue(root, at: now) || nodes[root].map { full.contains($0.owner) } ?? false
      switch (entry.state, found) {
      case (.restoring, nil), (.purging, nil): break
      case (.restoring, "kept"): trash[root]?.state = .kept
      case (.kept, "purging") where isDue, (.kept, nil) where isDue:
        trash[root]?.state = .purging
      default: faults.append("\(root) is \(found ?? "gone") in the trash, not \(entry)")
      }
    }
    return faults
  }

  private mutating func adopt(
    _ id: Identifier, _ rows: ContentRows, _ full: Set<Identifier>, at now: Instant
  ) -> [String] {
    guard let node = nodes[id] else { return [] }
    guard let row = rows.files[id] else { return ["\(id) has no row"] }
    let found: Place = !row.isDeleted ? .live : row.trash.map { .trashed($0) } ?? .gone
    if found != node.place {
      let above = chain(id).dropFirst()
      let isAllowed =
        switch (node.place, found) {
        case (.live, .trashed(let root)): above.contains(root) && nodes[root]?.place == found
        case (.live, .gone): above.contains { nodes[$0]?.place != .live }
        case (.trashed(let root), .gone): trash[root]?.state == .purging
        case (.trashed(let root), .live): trash[root]?.state == .restoring
        default: false
        }
      guard isAllowed else { return ["\(id) is \(found), and was \(node.place)"] }
      nodes[id]?.place = found
      if found == .gone { drop(id, at: now) }
    }
    guard let content = nodes[id]?.content else { return [] }
    return row.version == content.number && row.byteCount == content.byteCount
      ? []
      : [
        "\(id) has \(row.byteCount) bytes at version \(row.version), not \(content.byteCount) "
          + "at \(content.number)"
      ]
  }

  private mutating func adoptVersions(
    _ rows: ContentRows, _ full: Set<Identifier>, at now: Instant
  ) -> [String] {
    var faults: [String] = []
    let found = Dictionary(grouping: rows.versions, by: \.file).mapValues { versions in
      Dictionary(uniqueKeysWithValues: versions.map { ($0.number, $0.byteCount) })
    }
    for id in order {
      guard let node = nodes[id] else { continue }
      for version in node.versions where found[id]?[version.content.number] == nil {
        let isAllowed =
          node.place == .gone || isDue(version, of: node.owner, at: now)
          || full.contains(node.owner)
        if !isAllowed { faults.append("version \(version.content.number) of \(id) is gone") }
        drop(version, of: id, at: now)
      }
      let expected = Dictionary(
        uniqueKeysWithValues: (nodes[id]?.versions ?? []).map {
          ($0.content.number, $0.content.byteCount)
        })
      if expected != found[id] ?? [:] {
        faults.append("\(id) has the versions \(found[id] ?? [:]), not \(expected)")
      }
    }
    return faults
  }

  private func differences(_ rows: ContentRows, at now: Instant) -> [String] {
    var faults: [String] = []
    for id in accounts.keys.sorted() {
      guard let row = rows.accounts[id] else { continue }
      let (found, expected) = (
        [row.usage, row.history, row.trash],
        [usage(id), historyByteCount(id), trashByteCount(id)]
      )
      if found != expected { faults.append("\(id) is charged \(found), not \(expected)") }
      let reserved = rows.reservations.filter { $0.owner == id && $0.at > now }
        .map(\.byteCount).sorted()
      let promised = self.reserved(id, at: now).map(\.byteCount).sorted()
      if reserved != promised { faults.append("\(id) has reserved \(reserved), not \(promised)") }
    }
    if rows.caps.mapValues(\.byteCount) != caps {
      faults.append("caps are \(rows.caps), not \(caps)")
    }
    for (folder, cap) in rows.caps {
      let held = heldByteCount(folder)
      if cap.used != held { faults.append("\(folder) holds \(held), not \(cap.used)") }
    }
    return faults
  }
}
