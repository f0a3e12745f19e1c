import Accounts
import Base
import Storage

/// A text that an account holds no longer, because the row of its version was deleted.
struct ReleasedText: Sendable {
  let id: Identifier
  /// The account whose device wrote it, which is charged for it.
  let owner: Identifier
  let holder: Identifier

  /// Nil if the version has its content in its row.
  init?(_ text: Identifier?, writer: Identifier?, holder: Identifier) {
    guard let text else { return nil }
    id = text
    owner = writer ?? holder
    self.holder = holder
  }
}

/// The row of a version that an account holds.
protocol HeldVersion {
  /// Its charge besides the fee of a record and its text.
  var byteCount: Int64 { get }
  /// The account whose device wrote it; nil for the one that holds it.
  var writer: Identifier? { get }
  var text: Identifier? { get }
}

extension CurrentVersion: HeldVersion {}
extension LeavingVersion: HeldVersion {}

/// The texts that versions share. While any is held, the account whose device wrote it is charged for it.
struct DocumentTexts {
  let transaction: Transaction

  init(_ transaction: Transaction) { self.transaction = transaction }

  static let sliceCountMax: Int64 = 250

  func insert(
    _ texts: [(id: Identifier, version: DocumentVersion)], of owner: Identifier
  ) throws {
    try transaction.insert(
      texts.map { id, version in
        [
          .id(id), .integer(version.chargedByteCount), .blob(version.clock.bytes),
          .blob(version.content?.body),
        ]
      }, of: owner, into: "document_texts (owner_id, id, bytes, clock, body)")
  }

  /// What an account pays for versions that it holds: for their rows, and for its own texts that they refer to.
  func charge(of versions: [some HeldVersion]) throws -> Int64 {
    let texts = versions.compactMap { $0.writer == nil ? $0.text : nil }
    let byteCounts = try transaction.rows(in: texts.map { .id($0) }) { list in
      "SELECT bytes FROM sync.document_texts WHERE id IN (\(list))"
    } row: { row in
      try row.integer(0)
    }
    return versions.reduce(byteCounts.reduce(0, +)) { $0 + $1.byteCount }
  }

  /// Deletes those that nobody holds, of the `locked` accounts; the others' wait. Returns their charge by owner.
  func release(
    _ released: [ReleasedText], holding locked: Set<Identifier>
  ) throws -> [Identifier: Int64] {
    var freed: [Identifier: Int64] = [:]
    for (owner, texts) in Dictionary(grouping: released, by: \.owner) {
      if locked.contains(owner) {
        freed[owner] = try delete(unheld: Set(texts.map(\.id)), of: owner)
      } else {
        // In one order, so that no two transactions wait for each other.
        let texts = texts.sorted { ($0.id, $0.holder) < ($1.id, $1.holder) }
        try transaction.insert(
          texts.map { [.id($0.id), .id($0.holder)] }, of: owner,
          into: "document_releases (owner_id, item_id, holder_id)",
          conflict: "ON CONFLICT (owner_id, item_id, holder_id) DO NOTHING")
      }
    }
    return freed
  }

  /// Deletes those of an account's texts that nobody holds. Returns their charge. Nobody can come to hold one
  /// meanwhile, because only a push of the owner's device adds a holder.
  func delete(unheld texts: Set<Identifier>, of owner: Identifier) throws -> Int64 {
    let unheld = try transaction.rows(in: texts.sorted().map { .id($0) }, .id(owner)) { list in
      """
      SELECT t.id, t.bytes FROM sync.document_texts AS t
      WHERE t.owner_id = $1 AND t.id IN (\(list)) AND NOT EXISTS (
        SELECT 1 FROM sync.document_versions AS v WHERE v.text_id = t.id)
      """
    } row: { row in
      (id: try row.id(0), byteCount: try row.integer(1))
    }
    try transaction.execute(in: unheld.map { .id($0.id) }) { list in
      "DELETE FROM sync.document_texts WHERE id IN (\(list))"
    }
    return unheld.reduce(0) { $0 + $1.byteCount }
  }
}
