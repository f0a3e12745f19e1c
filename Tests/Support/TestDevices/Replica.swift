package import Base
import JSON

/// A client's copy of everything that its account sees, built only from pages of updates.
///
/// Pages may have any size and be repeated, and anything may change between two pages. The tree is valid only
/// after the last page (`isComplete`).
package struct Replica {
  package let device: TestDevice
  /// Everything seen, deleted records included.
  package private(set) var records: [Identifier: SeenRecord] = [:]
  /// The account's own shares in others' trees, by file.
  package private(set) var shares: [Identifier: SeenShare] = [:]
  package private(set) var cursor: String?
  /// Whether the last page said that nothing more had happened.
  package private(set) var isComplete = false
  package private(set) var pageCount = 0
  /// How often the server asked to start over.
  package private(set) var restartCount = 0
  /// Content that no server should send: malformed changes, invalid signatures.
  package private(set) var troubles: [String] = []
  /// By owner whose records are being sent again: the records that have not come yet.
  private var awaited: [Identifier: Set<Identifier>] = [:]

  private static let pageCountMax = 1_000_000

  package init(_ device: TestDevice) { self.device = device }

  /// Pulls until there is nothing more.
  package mutating func pull(limit: Int? = nil) throws {
    let bound = pageCount + Self.pageCountMax
    repeat { try pullPage(limit: limit) } while !isComplete && pageCount < bound
  }

  /// Pulls one page; starts over if the server says so.
  package mutating func pullPage(limit: Int? = nil) throws {
    var answer = try device.updates(since: cursor, limit: limit)
    if answer.status == 410 {
      startOver()
      answer = try device.updates(limit: limit)
    }
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    try apply(answer)
  }

  private mutating func startOver() {
    restartCount += 1
    records = [:]
    shares = [:]
    awaited = [:]
    cursor = nil
    isComplete = false
  }

  private mutating func apply(_ answer: Answer) throws {
    let page = try answer.json
    guard let changes = page["changes"].array, let cursor = page["cursor"].string,
      let isMore = page["more"].bool
    else { throw UnexpectedAnswer(answer) }
    for owner in page["restart"].array ?? [] {
      guard let owner = owner.string.flatMap({ Identifier($0) }) else {
        throw UnexpectedAnswer(answer)
      }
      awaited[owner] = Set(records.values.lazy.filter { $0.owner == owner }.map(\.id))
    }
    for change in changes { apply(change) }
    self.cursor = cursor
    pageCount += 1
    isComplete = !isMore
    if isComplete { try settle() }
  }

  private mutating func apply(_ change: JSON) {
    let record = SeenRecord(change["file"])
    let share = SeenShare(change["share"])
    if let record {
      if record.isSignatureValid == false { troubles.append("forged: \(record)") }
      records[record.id] = record
      awaited[record.owner]?.remove(record.id)
    }
    if let share {
      if !share.isSignatureValid { troubles.append("forged: \(share)") }
      shares[share.file] = share
    }
    if record != nil || share != nil { return }
    if let id = change["left"]["file"].string.flatMap({ Identifier($0) }) {
      records[id] = nil
    } else {
      troubles.append("neither file nor share nor left: \(change.members?.map(\.name) ?? [])")
    }
  }

  /// Forgets records that were not sent again, and records that no share reaches any more.
  private mutating func settle() throws {
    for id in awaited.values.joined() { records[id] = nil }
    awaited = [:]
    let account = try device.account
    let reached = reachedFiles()
    records = records.filter { $0.value.owner == account || reached.contains($0.key) }
  }

  /// Others' files that a share opens: those below an accepted one, and those offered.
  private func reachedFiles() -> Set<Identifier> {
    var known: [Identifier: Bool] = [:]
    for record in records.values {
      var path: [Identifier] = []
      var isReached = false
      var next: SeenRecord? = record
      while let current = next {
        if let answer = known[current.id] {
          isReached = answer
          break
        }
        path.append(current.id)
        // A file being decided counts as not reached, so that a circle ends.
        known[current.id] = false
        if shares[current.id]?.state == "accepted" {
          isReached = true
          break
        }
        next = current.isRoot ? nil : records[current.parent]
      }
      for id in path { known[id] = isReached }
    }
    return Set(
      records.keys.filter { known[$0] == true || shares[$0]?.state == "pending" })
  }
}

extension Replica {
  /// The records that a user sees: none that is deleted, and none below a deleted one.
  package var tree: [Identifier: SeenRecord] {
    records.filter { !isDeleted($0.value) }
  }

  package var ids: Set<Identifier> { Set(tree.keys) }

  /// Whether the record or a folder above it is deleted, as far as this account sees.
  package func isDeleted(_ record: SeenRecord) -> Bool {
    var current = record
    for _ in 0...records.count {
      if current.deleted { return true }
      guard !current.isRoot, let parent = records[current.parent] else { return false }
      current = parent
    }
    return false
  }

  package func children(of folder: Identifier) -> [SeenRecord] {
    tree.values.filter { $0.parent == folder && !$0.isRoot }.sorted { $0.id < $1.id }
  }
}
