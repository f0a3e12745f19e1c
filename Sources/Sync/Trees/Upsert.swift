internal import Base
internal import JSON
internal import Storage
internal import Tiers

/// Carries out a batch: locks the accounts it concerns, has it judged, and writes all of it.
struct Upsert {
  let transaction: Transaction
  let now: Instant
  let caller: Caller
  let judge: Judge
  private let author: [UInt8]
  private var owners: LockedOwners
  private var visibility: Visibility

  static func perform(
    _ transaction: Transaction, _ credentials: Credentials, _ batch: Batch, catalogue: Catalogue,
    limits: SyncLimits, now: Instant
  ) throws -> Outcome {
    let before = try Caller(transaction, credentials, now: now)
    let owners = try LockedOwners(
      transaction, try batch.concernedAccounts(transaction, before.account, now: now))
    let caller = try Caller(transaction, credentials, now: now)
    guard caller.publicKey == batch.author else {
      throw Refusal.bodyInvalid(path: "$.author", rule: "must be the key that makes the request")
    }
    return try Nonces.once(transaction, credentials) {
      var judge = try Judge(batch, by: caller.account, transaction)
      try judge.judgeFiles()
      try judge.judgeShares(accounts: owners.accounts)
      let invited = try judge.judgeInvitations(limits, catalogue: catalogue, now: now)
      guard judge.failures.isEmpty else { throw Refusal.batchRefused(judge.failures) }
      if invited > 0 {
        try Invitations.count(invited, of: caller.account, transaction, limits, now: now)
      }
      var upsert = Upsert(
        transaction: transaction, now: now, caller: caller, judge: judge, author: batch.author,
        owners: owners, visibility: Visibility(transaction, now: now))
      return try upsert.write(catalogue: catalogue, limits: limits)
    }
  }

  // MARK: Writing

  private mutating func write(catalogue: Catalogue, limits: SyncLimits) throws -> Outcome {
    try requireRoom(catalogue: catalogue, limits: limits)
    // Access ends first: what moves into a folder is not shown to those who no longer see it.
    var shares = try write(judge.batch.shares.filter { !$0.statement.isGrant })
    try makeWay()
    var versions: [Identifier: Int64] = [:]
    // Deletions first: a new link may take the place of a deleted one.
    for isDeleted in [true, false] {
      for change in judge.batch.files where change.statement.isDeleted == isDeleted {
        versions[change.statement.id] = try write(change, catalogue: catalogue)
      }
    }
    for (id, height) in judge.raisedHeights {
      try transaction.execute(
        "UPDATE sync.files SET height = $2 WHERE id = $1", .id(id), .integer(height))
    }
    try followLinks()
    try moveIntoView()
    shares.merge(try write(judge.batch.shares.filter(\.statement.isGrant))) { $1 }
    try owners.save(transaction, now: now)
    let written = judge.batch.shares.compactMap { shares[$0.statement.key] }
    return Outcome(200, answer(versions, written))
  }

  private func answer(_ versions: [Identifier: Int64], _ shares: [Share]) -> JSONValue {
    [
      "files": .array(
        judge.batch.files.map { change in
          let id = change.statement.id
          return ["id": .string(id.description), "version": .integer(versions[id] ?? 0)]
        }),
      "shares": .array(
        shares.map { share in
          [
            "file": .string(share.file.description),
            "account": .string(share.account.description),
            "state": .string(share.state.rawValue), "version": .integer(share.sequence),
          ]
        }),
    ]
  }

  private func requireRoom(catalogue: Catalogue, limits: SyncLimits) throws {
    var added: [Identifier: Int64] = [:]
    var removed: [Identifier: Int64] = [:]
    for change in judge.batch.files {
      let statement = change.statement
      if let record = judge.records[statement.id] {
        guard statement.isDeleted else { continue }
        added[record.owner, default: 0] -= 1
        removed[record.owner, default: 0] += record.contentByteCount
      } else {
        added[statement.owner, default: 0] += 1
      }
    }
    let made = Dictionary(
      grouping: judge.batch.files.filter { judge.records[$0.statement.id] == nil },
      by: \.statement.owner)
    for (account, files) in made {
      try Allowance.count(
        Int64(files.count), of: account, transaction, catalogue: catalogue, now: now)
    }
    for (account, count) in added {
      let owner = try owners.require(account)
      let bytes = count * catalogue.metadataFeeByteCount - (removed[account] ?? 0)
      try owner.requireRoom(
        for: bytes, askedBy: caller.account, transaction, catalogue: catalogue, now: now)
      if count > 0, owner.recordCount + count > limits.recordCountMax {
        throw Refusal.tooManyRecords(max: limits.recordCountMax)
      }
    }
  }

  /// Takes the names of all changed files out of the index, so that none is in another's way.
  private func makeWay() throws {
    guard judge.batch.files.count > 1 else { return }
    for change in judge.batch.files where judge.records[change.statement.id] != nil {
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
    guard let record = judge.records[statement.id] else {
      try insert(change, version)
      try owners.change(statement.owner) { owner in
        owner.charge(
          fee, records: 1, reason: .recordCreated, file: statement.id, sequence: version)
      }
      return version
    }
    if statement.isDeleted {
      try Deletions.dropContent(transaction, record, now: now)
      if record.kind == .folder {
        try Deletions.begin(transaction, record.id, record.owner, now: now)
      }
      try owners.change(statement.owner) { owner in
        owner.charge(
          -fee - record.contentByteCount, records: -1, reason: .recordDeleted, file: record.id,
          sequence: version)
      }
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
      .blob(statement.name.hmac), .blob(statement.key), .blob(author), .blob(change.signature),
      .integer(judge.planned[statement.id]?.height ?? 0), .integer(version))
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
      .blob(statement.name.hmac), .blob(statement.key), .blob(author), .blob(change.signature),
      .integer(judge.planned[statement.id]?.height ?? 0), .integer(version),
      .integer(statement.isDeleted ? 1 : 0), .instant(statement.isDeleted ? now : nil))
  }

  // MARK: What others see

  /// A link is the acceptance of a share: made, the share is accepted; deleted, it waits again.
  private mutating func followLinks() throws {
    var made: Set<Identifier> = []
    var deleted: Set<Identifier> = []
    for change in judge.batch.files {
      guard let target = change.statement.target else { continue }
      if change.statement.isDeleted {
        deleted.insert(target)
      } else if judge.records[change.statement.id] == nil {
        made.insert(target)
      }
    }
    for target in made.subtracting(deleted).sorted() {
      try visibility.link(target, caller.account, isMade: true, &owners)
    }
    for target in deleted.subtracting(made).sorted() {
      try visibility.link(target, caller.account, isMade: false, &owners)
    }
  }

  /// Tells those who gain or lose sight of a moved file; its own shares move along with it.
  private mutating func moveIntoView() throws {
    for change in judge.batch.files where !change.statement.isDeleted {
      let statement = change.statement
      guard let record = judge.records[statement.id], record.parent != statement.parent else {
        continue
      }
      let before = try visibility.sharees(of: judge.forest.chain(record.parent).map(\.id))
      let after = try visibility.sharees(of: judge.finalChain(statement.parent).map(\.id))
      let own = try visibility.sharees(of: [record.id])
      try visibility.depart(
        record.id, from: before.subtracting(after).subtracting(own), record.owner, &owners)
      try visibility.appear(
        record.id, to: after.subtracting(before).subtracting(own), record.owner, &owners)
    }
  }

  private mutating func write(
    _ changes: [Batch.ShareChange]
  ) throws -> [ShareStatement.Key: Share] {
    var shares: [ShareStatement.Key: Share] = [:]
    for change in changes { shares[change.statement.key] = try write(change) }
    return shares
  }

  private mutating func write(_ change: Batch.ShareChange) throws -> Share {
    let statement = change.statement
    let standing = try Share.find(transaction, statement.file, statement.account)
    guard let file = judge.final(statement.file) else { throw Refusal.fileNotFound }
    var share = Share(
      file: statement.file, account: statement.account, owner: file.owner,
      mode: standing?.mode ?? .read, state: .revoked, key: nil,
      author: FileRecord.Author(key: author, signature: change.signature),
      sequence: try owners.nextSequence(of: statement.account))
    switch statement.action {
    case .grant(let mode, let key):
      share.mode = mode
      share.key = key
      share.state = try visibility.grantedState(standing, statement)
    case .revoke: share.state = .revoked
    case .reject: share.state = .rejected
    }
    try visibility.change(share, from: standing?.state, &owners)
    return share
  }
}
