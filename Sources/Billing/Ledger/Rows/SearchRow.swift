import Base
package import Crypto
package import Storage
package import Stores
package import Subscriptions

/// A term by which an object is found, in its stored form.
package struct SearchRow: Hashable, Sendable {
  /// The text itself; for personal text, the code that a key makes of it.
  package let term: [UInt8]
  package let object: ObjectKey

  /// No delivery has more terms for the objects that it is about.
  private static let countMax = 16
  /// The most terms of one object: an address that changes with every delivery is no address.
  private static let countOfObjectMax: Int64 = 64

  /// Without a key nothing personal is stored.
  package static func all(_ terms: [SearchTerm], _ key: SearchKey?) -> [SearchRow] {
    var rows: [SearchRow] = []
    for term in terms where rows.count < countMax {
      guard let bytes = Self.term(term.text, isPersonal: term.isPersonal, key) else { continue }
      let row = SearchRow(term: bytes, object: term.object)
      if !rows.contains(row) { rows.append(row) }
    }
    return rows
  }

  /// `text` is in its normal form.
  package static func term(_ text: String, isPersonal: Bool, _ key: SearchKey?) -> [UInt8]? {
    isPersonal ? key?.code(of: text) : Array(text.utf8)
  }

  package func write(in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO billing.search_terms (term, object) SELECT $1, $2
      WHERE (SELECT count(*) FROM billing.search_terms WHERE object = $2) < $3
      ON CONFLICT (term, object) DO NOTHING
      """, .blob(term), .text(object.description), .integer(Self.countOfObjectMax))
  }

  /// The objects found by any of the terms, ascending; at most `countMax`.
  package static func objects(
    foundBy terms: [[UInt8]], countMax: Int, reading database: some Queryable
  ) throws -> [ObjectKey] {
    try SQLList.slices(of: terms.map { .blob($0) }, after: 1).flatMap { list in
      try database.rows(
        """
        SELECT DISTINCT object FROM billing.search_terms
        WHERE term IN (\(list.parameters)) ORDER BY object LIMIT $1
        """, values: [.integer(Int64(countMax))] + list.values
      ) { row in try row.text(0) }
    }.compactMap { ObjectKey($0) }
  }
}

/// The terms that were written recently, so that several deliveries about one purchase write them only once.
final class KnownTerms: Sendable {
  private let rows = Locked(Epochs<SearchRow, Bool>(countMax: 4096))

  func contains(_ row: SearchRow) -> Bool { rows.withLock { $0.value(row) } ?? false }

  func insert(_ new: [SearchRow]) {
    guard !new.isEmpty else { return }
    rows.withLock { rows in for row in new { rows.set(row, true) } }
  }
}
