import Accounts
import Base
import JSON
import Storage
import Tiers

/// Writes the plan of a batch under the locks of all accounts involved.
struct BatchWriter {
  private let transaction: Transaction
  private let now: Instant
  private let batch: Batch
  private let plan: BatchPlan
  private let caller: Identifier
  private let budget: WorkBudget
  private var owners: LockedOwners
  private let visibility: Visibility
  /// The limits of owners' plans, as far as they were asked.
  private var limits: [Identifier: Plan.Limits] = [:]

  init(
    _ transaction: Transaction, _ batch: Batch, _ plan: BatchPlan, by caller: Identifier,
    _ owners: LockedOwners, now: Instant
  ) {
    self.transaction = transaction
    self.now = now
    self.batch = batch
    self.plan = plan
    self.caller = caller
    self.owners = owners
    budget = WorkBudget(WorkBudget.written, of: transaction)
    visibility = Visibility(transaction, now: now)
  }

  mutating func write(catalogue: Catalogue, limits: SyncLimits) throws -> Outcome {
    try requireRoom(catalogue: catalogue, limits: limits)
    try fillFolders(catalogue: catalogue)
    // Access ends first, so that files moved into a folder are not shown to accounts that lose it.
    var shares = try write(batch.shares.filter { !$0.statement.isGrant })
    try makeWay()
    var versions: [Identifier: Int64] = [:]
    // Deletions first: a new link may take the place of a deleted one.
    for isDeleted in [true, false] {
      for change in batch.files where change.statement.isDeleted == isDeleted {
        versions[change.statement.id] = try write(change, catalogue: catalogue)
        try budget.check()
      }
    }
    visibility.filesMoved()
    for (id, height) in plan.raisedHeights {
      try transaction.execute(
        "UPDATE sync.files SET height = $2 WHERE id = $1", .id(id), .integer(height))
    }
    try followLinks()
    try moveIntoView()
    shares.merge(try write(batch.shares.filter(\.statement.isGrant))) { $1 }
    try owners.save(transaction, now: now)
    return Outcome(200, answer(versions, batch.shares.compactMap { shares[$0.statement.key] }))
  }

  private func answer(_ versions: [Identifier: Int64], _ shares: [Share]) -> JSONValue {
    [
      "files": .array(
        batch.files.map { change in
          let id = change.statement.id
          // A share of the file, or who comes to see it, gives it another number.
          let version = max(versions[id] ?? 0, visibility.numbers[id] ?? 0)
          return ["id": .string(id.description), "version": .integer(version)]
        }),
      "shares": .array(
        shares.map { share in
          [
            "file": .string(share.file.description),
            "account": .string(share.account.description),
            "state": .string(share.state.rawValue), "version": .integer(share.version),
          ]
        }),
    ]
  }

  private mutating func requireRoom(catalogue: Catalogue, limits: SyncLimits) throws {
    var added: [Identifier: Int64] = [:]
    var removed: [Identifier: Int64] = [:]
    var made: [Identifier: Int64] = [:]
    for change in batch.files {
      let statement = change.statement
      if let record = plan.records[statement.id] {
        // What the trash keeps makes no room.
        guard statement.isDeleted,
          Trash.span(record, try planLimits(of: record.owner, catalogue)) == nil
        else { continue }
        added[record.owner, default: 0] -= 1
        removed[record.owner, default: 0] += record.contentByteCount
      } else {
        added[statement.owner, default: 0] += 1
        made[statement.owner, default: 0] += 1
      }
    }
    for (account, count) in made {
      try Allowance.count(count, of: account, transaction, catalogue: catalogue, now: now)
    }
    for (account, count) in added {
      let owner = try owners.require(account)
      let bytes = count * catalogue.metadataFeeByteCount - (removed[account] ?? 0)
      try owner.requireRoom(
        for: bytes, askedBy: caller, transaction, catalogue: catalogue, now: now)
      guard count > 0 else { continue }
      let max = min(
        limits.recordCountMax, try planLimits(of: account, catalogue)?.recordCount ?? .max)
      if owner.recordCount + count > max { throw Refusal.tooManyRecords(max: max) }
    }
    try requireShares(catalogue: catalogue)
  }

  /// Posts what the batch changes in capped folders, and refuses growth beyond a cap.
  private mutating func fillFolders(catalogue: Catalogue) throws {
    for (account, changes) in Dictionary(grouping: batch.files, by: \.statement.owner) {
      guard try owners.require(account).hasFolderCaps else { continue }
      let limits = try planLimits(of: account, catalogue)
      var folders = FolderChanges(
        plan, try FolderCap.all(transaction, of: account), fee: catalogue.metadataFeeByteCount)
      for change in changes {
        let isKept = plan.records[change.statement.id].map { Trash.span($0, limits) != nil }
        try folders.add(change.statement, in: plan, isKept: isKept ?? false, transaction)
        try budget.check()
      }
      try folders.post(of: account, askedBy: caller, transaction)
    }
  }

  /// The limits of an owner's plan besides bytes; nil if no plan has any.
  private mutating func planLimits(
    of owner: Identifier, _ catalogue: Catalogue
  ) throws -> Plan.Limits? {
    guard catalogue.limitsMore else { return nil }
    if let known = limits[owner] { return known }
    let found = try Cap(transaction, owner, catalogue: catalogue, now: now).limits(catalogue)
    limits[owner] = found
    return found
  }

  /// Refuses grants beyond the limits of the owners' plans. Existing shares stay.
  private mutating func requireShares(catalogue: Catalogue) throws {
    let granted = batch.shares.filter { $0.statement.isGrant }
    guard !granted.isEmpty, catalogue.limitsMore else { return }
    let byOwner = Dictionary(grouping: granted) { plan.tree.final($0.statement.file)?.owner }
    for (owner, made) in byOwner {
      guard let owner, let limits = try planLimits(of: owner, catalogue) else { continue }
      let new = try made.filter {
        try Share.find(transaction, $0.statement.file, $0.statement.account)?.state.isLive != true
      }.count
      try ShareLimit.require(new, of: owner, transaction, limits)
    }
  }

  /// Takes the names of all changed files out of the index, so that none collides with another.
  private func makeWay() throws {
    guard batch.files.count > 1 else { return }
    for change in batch.files where plan.records[change.statement.id] != nil {
      // An id is shorter than any keyed hash, so it collides with none.
      try transaction.execute(
        "UPDATE sync.files SET name_hmac = id WHERE id = $1", .id(change.statement.id))
    }
  }

  private mutating func write(
    _ change: Batch.FileChange, catalogue: Catalogue
  ) throws -> Int64 {
    let statement = change.statement
    let version = try owners.nextSequence(of: statement.owner)
    let fee = catalogue.metadataFeeByteCount
    guard let record = plan.records[statement.id] else {
      try insert(change, version)
      try owners.change(statement.owner) { owner in
        owner.charge(
          fee, records: 1, reason: .recordCreated, file: statement.id, sequence: version)
      }
      return version
    }
    if statement.isDeleted {
      try Deletions.perform(
        transaction, record, by: batch.author, number: version,
        keptFor: Trash.span(record, try planLimits(of: record.owner, catalogue)), &owners, fee: fee,
        now: now)
    }
    try update(change, version)
    try visibility.renew(record.id, &owners)
    return version
  }

  private func insert(_ change: Batch.FileChange, _ version: Int64) throws {
    let statement = change.statement
    let count = try transaction.execute(
      """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, target_id, name, name_hmac, file_key, author_key,
         signature, height, seq, content_version, content_bytes, object_id, deleted, deleted_ms,
         deleted_with)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, 0, NULL, 0, NULL, NULL)
      ON CONFLICT (id) DO NOTHING
      """,
      .id(statement.id), .id(statement.owner), .id(statement.parent),
      .text(statement.kind.rawValue), .id(statement.target), .blob(statement.name.ciphertext),
      .blob(statement.name.hmac), .blob(statement.key), .blob(batch.author),
      .blob(change.signature),
      .integer(plan.tree.planned[statement.id]?.height ?? 0), .integer(version))
    // Ids are global: another account, whose row is not locked, may have been faster.
    guard count == 1 else {
      throw Refusal.batchRefused([Failure(file: statement.id, account: nil, rule: .idTaken)])
    }
  }

  private func update(_ change: Batch.FileChange, _ version: Int64) throws {
    let statement = change.statement
    try transaction.execute(
      """
      UPDATE sync.files SET
        parent_id = $2, name = $3, name_hmac = $4, file_key = $5, author_key = $6,
        signature = $7, height = $8, seq = $9, deleted = $10, deleted_ms = $11
      WHERE id = $1
      """,
      .id(statement.id), .id(statement.parent), .blob(statement.name.ciphertext),
      .blob(statement.name.hmac), .blob(statement.key), .blob(batch.author),
      .blob(change.signature),
      .integer(plan.tree.planned[statement.id]?.height ?? 0), .integer(version),
      .integer(statement.isDeleted ? 1 : 0), .instant(statement.isDeleted ? now : nil))
  }

  // MARK: What others see

  /// A link accepts a share: creating it accepts the share, deleting it makes the share pending again.
  private mutating func followLinks() throws {
    var made: Set<Identifier> = []
    var deleted: Set<Identifier> = []
    for change in batch.files {
      guard let target = change.statement.target else { continue }
      if change.statement.isDeleted {
        deleted.insert(target)
      } else if plan.records[change.statement.id] == nil {
        made.insert(target)
      }
    }
    let links = [(made.subtracting(deleted), true), (deleted.subtracting(made), false)]
    for (targets, isMade) in links {
      for target in targets.sorted() {
        try visibility.link(target, caller, isMade: isMade, &owners)
        try budget.check()
      }
    }
  }

  /// Updates the accounts that gain or lose sight of a moved file. Its own shares move with it.
  private mutating func moveIntoView() throws {
    for change in batch.files where !change.statement.isDeleted {
      let statement = change.statement
      guard let record = plan.records[statement.id], record.parent != statement.parent else {
        continue
      }
      let tree = plan.tree
      let old = try visibility.sharees(of: tree.current.chain(record.parent))
      let new = try visibility.sharees(of: tree.finalChain(statement.parent))
      let own = try visibility.sharees(of: tree.current[record.id].map { [$0] } ?? [])
      try visibility.depart(
        record.id, from: old.subtracting(new).subtracting(own), record.owner, &owners)
      try visibility.appear(
        record.id, to: new.subtracting(old).subtracting(own), record.owner, &owners)
      try budget.check()
    }
  }

  private mutating func write(
    _ changes: [Batch.ShareChange]
  ) throws -> [Share.Statement.Key: Share] {
    var shares: [Share.Statement.Key: Share] = [:]
    for change in changes {
      shares[change.statement.key] = try write(change)
      try budget.check()
    }
    return shares
  }

  private mutating func write(_ change: Batch.ShareChange) throws -> Share {
    let statement = change.statement
    let current = try Share.find(transaction, statement.file, statement.account)
    guard let file = plan.tree.final(statement.file) else { throw Refusal.fileNotFound }
    var share = Share(
      file: statement.file, account: statement.account, owner: file.owner,
      mode: current?.mode ?? .read, state: .revoked, key: nil,
      author: FileRecord.Author(key: batch.author, signature: change.signature),
      sequence: try owners.nextSequence(of: statement.account))
    switch statement.action {
    case .grant(let mode, let key):
      share.mode = mode
      share.key = key
      share.state = try visibility.grantedState(current, statement)
    case .revoke: share.state = .revoked
    case .reject: share.state = .rejected
    }
    try visibility.change(share, from: current?.state, &owners)
    return share
  }
}
