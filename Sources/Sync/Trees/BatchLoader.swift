import Accounts
import Base
import Storage
import Tiers

/// Reads everything that the rules can need for a batch, in statements about many rows each. The changes and the tree
/// that they would produce tell what is needed. Each statement reads a bounded number of rows, and the budget is
/// checked after it.
struct BatchLoader {
  /// The most files and folders in one statement that returns many rows for each.
  private static let wideCountMax = 16

  private let batch: Batch
  private let source: any Queryable
  private let budget: WorkBudget
  private var snapshot: BatchSnapshot
  private let grants: [Share.Statement]

  static func load(
    _ batch: Batch, by caller: Identifier, _ source: any Queryable, _ budget: WorkBudget,
    _ limits: SyncLimits, catalogue: Catalogue, now: Instant
  ) throws -> BatchSnapshot {
    var loader = BatchLoader(batch, by: caller, source, budget)
    try loader.loadFiles()
    try loader.loadShares()
    let tree = PlannedTree(batch, loader.snapshot)
    let placed = loader.placed(tree)
    try loader.loadHeights(tree, placed)
    try loader.loadNames(placed)
    try loader.loadLinks(tree, placed)
    try loader.loadInvitations(limits, catalogue: catalogue, now: now)
    // Read last, so that they are no older than the data they stand for.
    try loader.loadNumbers(tree)
    return loader.snapshot
  }

  private init(
    _ batch: Batch, by caller: Identifier, _ source: any Queryable, _ budget: WorkBudget
  ) {
    self.batch = batch
    self.source = source
    self.budget = budget
    snapshot = BatchSnapshot(seenBy: caller)
    grants = batch.shares.map(\.statement).filter(\.isGrant)
  }

  private var caller: Identifier { snapshot.caller }

  /// The rows of a statement about many ids; `values` come before the list.
  private func rows<Value>(
    of ids: some Sequence<Identifier>, _ values: [SQLValue] = [], count: Int = 512,
    _ sql: (_ list: String) -> String, row: (borrowing Row) throws -> Value
  ) throws -> [Value] {
    var found: [Value] = []
    let ids = Set(ids).sorted().map { SQLValue.id($0) }
    for list in SQLList.slices(of: ids, count: count, after: values.count) {
      found += try source.rows(sql(list.parameters), values: values + list.values, row: row)
      try budget.check()
    }
    return found
  }

  private func ids(
    of ids: some Sequence<Identifier>, _ values: [SQLValue] = [], count: Int = 512,
    _ sql: (_ list: String) -> String
  ) throws -> Set<Identifier> {
    Set(try rows(of: ids, values, count: count, sql) { row in try row.id(0) })
  }

  /// The live files that the batch would leave in folders that may hold files.
  private func placed(_ tree: PlannedTree) -> [FileRecord.Statement] {
    zip(batch.files, tree.rules).compactMap { change, rule in
      let statement = change.statement
      guard rule == nil, !statement.isDeleted else { return nil }
      let chain = tree.finalChain(statement.parent)
      return tree.rule(of: statement, in: chain) == nil ? statement : nil
    }
  }

  // MARK: Files

  /// The changed files, and what is above them, above their new places, targets and shared files.
  private mutating func loadFiles() throws {
    let changed = batch.files.map(\.statement)
    let found = try rows(of: changed.map(\.id), [.id(caller)]) { list in
      """
      SELECT \(FileRecord.columns), height, \(AncestorTree.shareColumns)
      FROM sync.files AS f WHERE id IN (\(list))
      """
    } row: { row in
      let record = try FileRecord(row: row)
      return (record, try AncestorTree.Node(record, row: row, from: FileRecord.columnCount))
    }
    for (record, node) in found {
      snapshot.records[record.id] = record
      snapshot.tree.insert(node)
    }
    let missing = changed.map(\.id).filter { snapshot.records[$0] == nil }
    snapshot.rememberedIDs = try FileRecord.remembered(of: missing, source)
    try budget.check()
    try snapshot.tree.load(
      found.map(\.0.parent) + changed.map(\.parent) + changed.compactMap(\.target)
        + batch.shares.map(\.statement.file), source, within: budget)
  }

  private mutating func loadHeights(
    _ tree: PlannedTree, _ placed: [FileRecord.Statement]
  ) throws {
    var countable = WorkBudget.counted
    for statement in placed where tree.isInDoubt(statement) {
      let levels = try source.rows(
        """
        WITH RECURSIVE below (id, level) AS (
          SELECT id, 0 FROM sync.files WHERE id = $1
          UNION ALL
          SELECT f.id, b.level + 1 FROM below AS b JOIN sync.files AS f ON f.parent_id = b.id
          WHERE f.deleted = 0)
        SELECT level FROM below LIMIT $2
        """, .id(statement.id), .integer(countable + 1)
      ) { row in try row.integer(0) }
      try budget.check()
      if levels.count > countable {
        // A single one might be countable.
        guard countable == WorkBudget.counted else { throw Refusal.batchTooCostly }
        snapshot.countedHeights[statement.id] = .some(nil)
      } else {
        countable -= Int64(levels.count)
        snapshot.countedHeights[statement.id] = levels.max()
      }
    }
  }

  private mutating func loadNames(_ placed: [FileRecord.Statement]) throws {
    let named = placed.filter { snapshot.tree[$0.parent] != nil }
    for (parent, statements) in Dictionary(grouping: named, by: \.parent) {
      let hmacs = statements.map { SQLValue.blob($0.name.hmac) }
      for list in SQLList.slices(of: hmacs, after: 1) {
        let found = try source.rows(
          """
          SELECT name_hmac, id FROM sync.files
          WHERE parent_id = $1 AND name_hmac IN (\(list.parameters)) AND deleted = 0
          """, values: [.id(parent)] + list.values
        ) { row in (hmac: try row.blob(0), id: try row.id(1)) }
        for holder in found {
          snapshot.nameHolders[.init(parent: parent, hmac: holder.hmac)] = holder.id
        }
        try budget.check()
      }
    }
  }

  // MARK: Shares

  private mutating func loadShares() throws {
    let statements = batch.shares.map(\.statement)
    for (file, statements) in Dictionary(grouping: statements, by: \.file) {
      let found = try rows(of: statements.map(\.account), [.id(file)]) { list in
        "SELECT account_id, state FROM sync.shares WHERE file_id = $1 AND account_id IN (\(list))"
      } row: { row in
        (account: try row.id(0), state: try row.text(1))
      }
      for share in found {
        snapshot.shareStates[.init(file: file, account: share.account)] =
          Share.State(rawValue: share.state)
      }
    }
    // Grants are bounded by them. Links may be in places where none of them is left.
    guard !grants.isEmpty || !batch.files.isEmpty else { return }
    let live = try rows(of: statements.map(\.file)) { list in
      """
      SELECT file_id, CAST(count(*) AS BIGINT) FROM sync.shares
      WHERE file_id IN (\(list)) AND state IN ('pending', 'accepted') GROUP BY file_id
      """
    } row: { row in
      (file: try row.id(0), count: try row.integer(1))
    }
    for shares in live { snapshot.shareCounts[shares.file, default: .init()].live = shares.count }
    try loadSharesOfGrants()
  }

  /// The shares that limit grants, and whether the grants are accepted.
  private mutating func loadSharesOfGrants() throws {
    let new = grants.filter { snapshot.shareStates[$0.key] == nil }
    for file in Set(new.map(\.file)) {
      snapshot.shareCounts[file, default: .init()].all =
        try source.rows(
          "SELECT account_id FROM sync.shares WHERE file_id = $1 LIMIT $2",
          .id(file), .integer(Int64(BatchRules.shareRowCountMax))
        ) { row in try row.id(0) }.count
      try budget.check()
    }
    let invited = grants.filter { snapshot.shareStates[$0.key]?.isLive != true }.map(\.account)
    for account in Set(invited) {
      // Includes shares of deleted files until those are forgotten.
      snapshot.sharesBetween[account] = try source.number(
        """
        SELECT CAST(count(*) AS BIGINT) FROM (
          SELECT file_id FROM sync.shares
          WHERE account_id = $1 AND owner_id = $2 AND state IN ('pending', 'accepted') LIMIT $3) AS s
        """, .id(account), .id(caller), .integer(Int64(BatchRules.sharesBetweenMax)))
      try budget.check()
    }
    let areContacts = Contacts.areContacts("a.id", "$1")
    snapshot.contacts = try ids(of: invited, [.id(caller)]) { list in
      """
      SELECT a.id FROM sync.accounts AS a
      WHERE a.id IN (\(list)) AND (\(areContacts))
      """
    }
    snapshot.blockers = try ids(of: grants.map(\.account), [.id(caller)]) { list in
      "SELECT account_id FROM sync.blocks WHERE blocked_id = $1 AND account_id IN (\(list))"
    }
  }

  private mutating func loadInvitations(
    _ limits: SyncLimits, catalogue: Catalogue, now: Instant
  ) throws {
    let strangers = grants.filter(snapshot.invitesStranger)
    guard !strangers.isEmpty,
      try Invitations.isLimited(caller, source, limits, catalogue: catalogue, now: now)
    else { return }
    let max = limits.openInvitationCountMax
    let open = try Invitations.waiting(.sent, caller, source, max: max)
    let sent = Int(Swift.max(0, max - open))
    var received: [Identifier: Int64] = [:]
    for receiver in Set(strangers.prefix(sent).map(\.account)) {
      received[receiver] = try Invitations.room(of: receiver, source, limits, now: now)
      try budget.check()
    }
    snapshot.invitationRoom = (sent, received)
  }

  // MARK: Links

  private mutating func loadLinks(
    _ tree: PlannedTree, _ placed: [FileRecord.Statement]
  ) throws {
    let makesLinks = placed.contains { $0.kind == .link && tree.current[$0.id] == nil }
    let rejects = batch.shares.contains { $0.statement.isRejection }
    // Links may not get into a folder that others see, nor may others get into one with links.
    let granted = Set(grants.map(\.file))
    let owners = Set(
      placed.filter {
        tree.isMovedFolder($0) && mayBeShared(tree.finalChain($0.parent), granted: granted)
      }
      .map(\.owner)
        + grants.compactMap { tree.final($0.file) }
        .filter { $0.kind == .folder && $0.owner == caller }.map(\.owner))
    for owner in owners.union(makesLinks || rejects ? [caller] : []).sorted() {
      let links = try source.rows(
        """
        SELECT id, target_id FROM sync.files
        WHERE owner_id = $1 AND target_id IS NOT NULL AND deleted = 0
        """, .id(owner)
      ) { row in (id: try row.id(0), target: try row.id(1)) }
      try budget.check()
      snapshot.links[owner] = links
      guard owners.contains(owner) else { continue }
      try snapshot.tree.load(links.map(\.id), source, within: budget)
    }
    guard makesLinks else { return }
    snapshot.seenOwners = Set(
      try source.ids("SELECT owner_id FROM sync.views WHERE account_id = $1", .id(caller)))
    try budget.check()
  }

  /// Whether others see one of the folders, if the batch ends no share.
  private func mayBeShared(
    _ chain: [AncestorTree.Node], granted: Set<Identifier>
  ) -> Bool { chain.contains { $0.hasLiveShares || granted.contains($0.id) } }

  // MARK: Accounts

  private mutating func loadNumbers(_ tree: PlannedTree) throws {
    let told = batch.files.map(\.statement.id).filter { tree.current[$0]?.hasLiveShares == true }
    snapshot.invitees = try ids(of: told, count: Self.wideCountMax) { list in
      """
      SELECT account_id FROM sync.shares
      WHERE file_id IN (\(list)) AND state IN ('pending', 'accepted') AND state = 'pending'
      """
    }
    let accounts = BatchRules.owners(batch, tree).union(snapshot.invitees)
      .union(batch.shares.map(\.statement.account))
    snapshot.numbers = try BatchPlan.numbers(of: accounts, source)
    try budget.check()
  }
}
