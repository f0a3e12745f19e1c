import Accounts
import Base
import Storage

/// Whether an account's versions are as their authors signed them, and fit the rows beside them.
///
/// Each slice is one snapshot. A version that is stored meanwhile gets a later number, and is read then.
struct DocumentAudit {
  /// What a version must fit besides its signature.
  private enum Law: CaseIterable {
    case text, counter, deletion

    /// A condition of SQL: whether the version `v` breaks it. `t` is its text, and `d` the row of its device.
    var isBroken: String {
      switch self {
      case .text: "v.text_id IS NOT NULL AND t.id IS NULL"
      // The row of a foreign device may go before what it wrote, once that was replaced.
      case .counter: "d.counter < v.counter OR (d.counter IS NULL AND v.replaced_ms IS NULL)"
      case .deletion:
        """
        v.deleted = 1 AND v.writer_id IS NULL AND v.replaced_ms IS NULL AND EXISTS (
          SELECT 1 FROM sync.document_versions AS o
          WHERE o.account_id = v.account_id AND o.document_id = v.document_id
            AND o.replaced_ms IS NULL AND o.seq <> v.seq)
        """
      }
    }

    var sentence: String {
      switch self {
      case .text: "has lost its clock and its body"
      case .counter: "has a counter that its device has not reached"
      case .deletion: "deletes the document, and another version is current beside it"
      }
    }
  }

  private let account: Identifier
  private var last: Int64 = 0
  private var isRead = false
  private var faults: [String] = []

  private init(_ account: Identifier) { self.account = account }

  static func faults(of account: Identifier, in database: Database) throws -> [String] {
    var audit = DocumentAudit(account)
    while !audit.isRead, audit.faults.count < Faults.countMax {
      let versions = try database.read { try audit.readSlice($0) }
      // Checked outside of the snapshot, because signatures take longer than rows.
      for version in versions where !version.isSigned {
        audit.add(
          "is not as its author signed it", version.document, version.author, version.counter)
      }
    }
    return audit.faults
  }

  /// Reads one more slice. Returns the versions whose signatures are to be checked.
  private mutating func readSlice(_ reader: Reader) throws -> [DocumentVersion] {
    var page = VersionPage(limit: VersionPage.limitMax)
    try page.add(
      reader, where: "account_id = $1 AND (text_id IS NULL OR t.id IS NOT NULL)", [.id(account)],
      "seq", after: last)
    let end: Int64 = page.isFull ? page.versions.last?.number ?? .max : .max
    for law in Law.allCases {
      let broken = try reader.rows(
        """
        SELECT v.document_id, v.author_key, v.counter FROM \(StoredVersion.source)
          LEFT JOIN sync.document_devices AS d
            ON d.account_id = v.account_id AND d.author_key = v.author_key
        WHERE v.account_id = $1 AND v.seq > $2 AND v.seq <= $3 AND (\(law.isBroken))
        ORDER BY v.seq LIMIT $4
        """, .id(account), .integer(last), .integer(end),
        .integer(Faults.countMax)
      ) { row in (document: try row.id(0), author: try row.blob(1), counter: try row.integer(2)) }
      for version in broken { add(law.sentence, version.document, version.author, version.counter) }
    }
    (last, isRead) = (end, !page.isFull)
    return page.versions.map(\.version)
  }

  private mutating func add(
    _ fault: String, _ document: Identifier, _ author: [UInt8], _ counter: Int64
  ) {
    faults.append(
      "the version \(counter) of the device \(Base64.standard.encode(author)) of the document "
        + "\(document) \(fault)")
  }
}
