package import Base
import Crypto
package import Objects
package import Storage

/// Checks whether the rows of an account's tree fit together while writers continue. Files are read in slices by
/// their numbers, each slice with everything above it in one snapshot, so that every rule is checked at one moment.
/// Later changes get later numbers and are read then.
package struct TreeAudit {
  package let account: Identifier
  private let objects: (any ObjectStore)?
  private var filesReadTo: Int64 = 0
  private var sharesReadTo: Int64 = 0
  private var areFilesRead = false
  /// The number of files and shares checked.
  package private(set) var checkedCount: Int64 = 0
  package private(set) var isRead = false

  private static let sliceRowCount: Int64 = 1000

  /// Without `objects` their existence is not checked.
  package init(_ account: Identifier, objects: (any ObjectStore)?) {
    self.account = account
    self.objects = objects
  }

  /// Reads one more slice: files, then the account's shares of others' files.
  package mutating func readSlice(_ reader: Reader) throws -> [TreeFinding] {
    // An account that is being erased has lost some rows and still has others.
    guard let owner = try Owner.find(reader, account), owner.erasure != .begun else {
      isRead = true
      return []
    }
    if areFilesRead { return try readShares(reader, owner) }
    let files = try FileRecord.changed(
      reader, of: account, after: filesReadTo, limit: Self.sliceRowCount)
    checkedCount += Int64(files.count)
    areFilesRead = files.count < Self.sliceRowCount
    filesReadTo = files.last?.sequence ?? filesReadTo
    var findings = try TreeSlice(reader, files, of: owner, objects).findings()
    if areFilesRead, owner.erasure == .none, try FileRecord.find(reader, owner.root) == nil {
      findings.append(TreeFinding(.root, owner.root))
    }
    return findings
  }

  private mutating func readShares(
    _ reader: Reader, _ owner: Owner
  ) throws -> [TreeFinding] {
    let shares = try Share.changed(
      reader, of: account, after: sharesReadTo, limit: Self.sliceRowCount)
    checkedCount += Int64(shares.count)
    sharesReadTo = shares.last?.sequence ?? sharesReadTo
    var findings: [TreeFinding] = []
    for share in shares {
      if share.sequence > owner.sequence { findings.append(TreeFinding(.number, share.file)) }
      guard let file = try FileRecord.find(reader, share.file) else {
        // The row of an ended share tells its sharee that the owner was erased.
        if try share.state.isLive || Erasure.of(share.owner, reader) == .none {
          findings.append(TreeFinding(.shareOfNothing, share.file))
        }
        continue
      }
      if file.owner != share.owner { findings.append(TreeFinding(.shareOwner, share.file)) }
      // Of a deleted file, only the deletion is sent.
      let link = try FileRecord.liveLink(reader, of: account, to: share.file)
      if share.state.isLive, (link != nil) != (share.state == .accepted) {
        findings.append(TreeFinding(.shareLink, share.file))
      }
    }
    if shares.count < Self.sliceRowCount {
      isRead = true
      findings += try views(reader)
    }
    return findings
  }

  private func views(_ reader: Reader) throws -> [TreeFinding] {
    func owners(_ sql: String) throws -> Set<Identifier> {
      Set(try reader.ids(sql, .id(account)))
    }
    let seen = try owners("SELECT owner_id FROM sync.views WHERE account_id = $1")
    let shared = try owners(
      """
      SELECT DISTINCT owner_id FROM sync.shares WHERE account_id = $1 AND state = 'accepted'
      """)
    return seen.symmetricDifference(shared).sorted().map { TreeFinding(.view, $0) }
  }

  struct Owner {
    let account: Identifier
    let root: Identifier
    let sequence: Int64
    let erasure: Erasure

    static func find(_ reader: Reader, _ account: Identifier) throws -> Owner? {
      let erasure = try Erasure.of(account, reader)
      return try reader.first(
        "SELECT root_id, seq FROM sync.accounts WHERE id = $1", .id(account)
      ) { row in
        Owner(
          account: account, root: try row.id(0), sequence: try row.integer(1), erasure: erasure)
      }
    }
  }

  enum Erasure {
    case none, begun, done

    static func of(_ account: Identifier, _ reader: some Queryable) throws -> Erasure {
      try reader.first(
        """
        SELECT erased_ms FROM sync.account_deletions
        WHERE account_id = $1 AND begun_ms IS NOT NULL
        """, .id(account)
      ) { row in try row.optionalInteger(0) == nil ? .begun : .done } ?? .none
    }
  }
}
