package import Accounts
package import Base
import JSON
package import Requests
package import Storage
import Tiers

/// Changes of chains, and their charge. The rows of caller, owner and the accounts whose devices join must be locked.
package struct ChainWrite {
  let host: ProtocolHost
  let transaction: Transaction
  let caller: Caller
  let now: Instant

  package init(
    _ host: ProtocolHost, _ transaction: Transaction, by caller: Caller, now: Instant
  ) {
    self.host = host
    self.transaction = transaction
    self.caller = caller
    self.now = now
  }

  /// What an append did to a chain.
  package struct Appended: Sendable {
    package let chain: Chain
    /// The members before the first block.
    package let before: [ChainMember]
    /// The commit that the last block came with, if the blocks were stored before; nil if they are new.
    package let repeated: Repeated?

    package struct Repeated: Sendable {
      package let commit: Identifier?
    }
  }

  /// The accounts whose rows are locked: the owner's, and those whose devices join. None if the chain is not seen.
  package static func others(
    _ queryable: some Queryable, _ batch: ChainBatch, of chain: Identifier, by caller: Identifier
  ) throws -> Set<Identifier> {
    guard let owner = try Chain.owner(queryable, of: chain, seenBy: caller) else { return [] }
    let joining = try ChainAccounts.devices(queryable, batch.added).values.map(\.account)
    return Set(joining).union([owner])
  }

  // MARK: making and deleting

  func create(
    _ batch: ChainBatch, isOwn: Bool, _ owners: inout LockedOwners
  ) throws -> Chain {
    let (account, root) = (caller.account, batch.blocks[0])
    try owners.requireWritable([account], by: caller, transaction)
    try batch.require(author: caller.publicKey, chain: root.chain)
    let members: ChainMembers
    do { members = try ChainMembers(root: root) } catch {
      throw ChainRefusal.blocksRefused(ChainFailure(index: 0, rule: error))
    }
    if let known = try Chain.find(transaction, root.chain) {
      // The same root again, whose answer was lost.
      guard known.owner == account, known.isOwn == isOwn,
        try BlockRows(source: transaction, chain: root.chain).find(0)?.block.hash == root.hash
      else { throw ChainRefusal.chainExists }
      return known
    }
    guard try Chain.count(transaction, of: account) < Chain.countMax else {
      throw ChainRefusal.tooManyChains(max: Chain.countMax)
    }
    if isOwn, let own = try Chain.own(transaction, of: account) {
      throw ChainRefusal.ownChainExists(own)
    }
    let chain = Chain(
      id: root.chain, owner: account, isOwn: isOwn, head: members.head, memberCount: 1,
      byteCount: root.chargedByteCount, created: now)
    // The id may be another account's, or that of a chain whose rows still go.
    guard try chain.insert(transaction) else { throw ChainRefusal.chainExists }
    try BlockRows(source: transaction, chain: chain.id).insert([
      StoredBlock(block: root, stored: now, commit: nil)
    ])
    try MemberRows(source: transaction, chain: chain.id).add(root.additions, at: 0)
    try ChainAccounts(transaction: transaction, chain: chain).save(
      [account: 1], insteadOf: [:], by: caller.publicKey)
    try charge(chain.byteCount, records: 1, .recordCreated, chain, &owners)
    return chain
  }

  /// Deletes a chain at any usage, or leaves another account's. Its rows go later, and are kept uncharged meanwhile.
  func delete(_ id: Identifier, _ owners: inout LockedOwners) throws {
    let chain = try Chain.seen(transaction, id, by: caller.account)
    let accounts = ChainAccounts(transaction: transaction, chain: chain)
    _ = try owners.require(chain.owner)
    guard chain.owner == caller.account else {
      return try accounts.leave(caller.account, at: now)
    }
    try accounts.save(
      [:], insteadOf: ChainAccounts.counts(transaction, of: id), by: caller.publicKey)
    try transaction.execute(
      "UPDATE sync.chains SET purge_ms = $2 WHERE id = $1", .id(id), .instant(now))
    try charge(-chain.byteCount, records: -1, .recordDeleted, chain, &owners)
    try Garbage.keep(transaction, chain.byteCount, of: chain.owner)
  }

  // MARK: appending

  /// Appends blocks, unless they are stored already. `commit` is the id of the commit that they come with.
  package func append(
    _ batch: ChainBatch, to id: Identifier, commit: Identifier? = nil,
    _ owners: inout LockedOwners
  ) throws -> Appended {
    var chain = try Chain.seen(transaction, id, by: caller.account)
    let rows = BlockRows(source: transaction, chain: id)
    try batch.require(author: caller.publicKey, chain: id)
    if let last = batch.blocks.last, last.epoch <= chain.head.epoch,
      let known = try rows.find(last.epoch), known.block.hash == last.hash
    {
      return Appended(chain: chain, before: [], repeated: .init(commit: known.commit))
    }
    guard chain.isOwn || batch.revocations.isEmpty else {
      throw RequestRefusal.bodyInvalid(
        path: "$.revocations", rule: "must be absent: the chain is not the account's own")
    }
    if !batch.onlyRemoves {
      try owners.requireWritable([chain.owner], by: caller, transaction)
    }
    guard chain.head.epoch + Int64(batch.blocks.count) <= ChainBlock.epochMax else {
      throw ChainRefusal.chainFull
    }
    var counts = try ChainAccounts.counts(transaction, of: id)
    let countsBefore = counts
    let byteCountBefore = chain.byteCount
    var members = try start(batch, in: &chain, &counts)
    let countsAtStart = counts
    let before = commit == nil ? [] : try MemberRows(source: transaction, chain: id).all()
    let devices = try ChainAccounts.devices(transaction, batch.added.union(batch.removed))
    var revoked: [ChainBatch.Revocation] = []
    for (index, block) in batch.blocks.enumerated() {
      do throws(ChainRule) {
        try members.append(block)
        revoked += try count(block, in: chain, devices, batch, &counts)
      } catch { throw ChainRefusal.blocksRefused(ChainFailure(index: index, rule: error)) }
    }
    let joining = Set(batch.added.compactMap { devices[$0]?.account })
    try admit(joining, with: counts, after: countsAtStart, to: chain, &owners)
    try store(batch, commit, members, in: &chain)
    try ChainAccounts(transaction: transaction, chain: chain).save(
      counts, insteadOf: countsBefore,
      replaced: Set(countsBefore.keys).subtracting(countsAtStart.keys), by: caller.publicKey)
    try charge(
      chain.byteCount - byteCountBefore, mustFit: !batch.onlyRemoves, .blocksAppended, chain,
      &owners)
    for revocation in revoked { try revoke(revocation) }
    return Appended(chain: chain, before: before, repeated: nil)
  }

  /// The members that the first block follows: at the head, or before it if the block takes the head's place.
  private func start(
    _ batch: ChainBatch, in chain: inout Chain, _ counts: inout [Identifier: Int64]
  ) throws -> ChainMembers {
    let rows = MemberRows(source: transaction, chain: chain.id)
    let first = batch.blocks[0]
    let head = chain.head
    func members(_ keys: Set<[UInt8]>) throws -> ChainMembers {
      ChainMembers(head: head, count: chain.memberCount, since: try rows.since(keys))
    }
    if first.parent == head.hash { return try members(batch.named) }
    let blocks = BlockRows(source: transaction, chain: chain.id)
    guard first.epoch == head.epoch, let last = try blocks.find(head.epoch),
      let parent = last.block.parent
    else { throw ChainRefusal.headChanged(head) }
    let known = try members(batch.named.union([last.block.author]).union(last.block.additions))
    guard
      ChainFork.replaces(
        last.block, stored: last.stored, with: first, since: known.since, now: now)
    else { throw ChainRefusal.headChanged(head) }
    try blocks.delete(head.epoch)
    try rows.remove(last.block.additions)
    let devices = try ChainAccounts.devices(transaction, Set(last.block.additions))
    for key in last.block.additions {
      guard let account = devices[key]?.account, let count = counts[account] else { continue }
      counts[account] = count > 1 ? count - 1 : nil
    }
    chain.byteCount -= last.byteCount
    chain.replaced = Chain.Replaced(point: head, at: now)
    return known.before(last.block, parent: parent)
  }

  /// Counts members by account after a block. Returns the revocations of those that leave the account's own chain.
  private func count(
    _ block: ChainBlock, in chain: Chain,
    _ devices: [[UInt8]: (account: Identifier, isRevoked: Bool)], _ batch: ChainBatch,
    _ counts: inout [Identifier: Int64]
  ) throws(ChainRule) -> [ChainBatch.Revocation] {
    var revoked: [ChainBatch.Revocation] = []
    for key in block.removals {
      // The keys of an account that is being erased may still be there, without its count.
      guard let device = devices[key], let count = counts[device.account] else { continue }
      counts[device.account] = count - 1
      guard chain.isOwn, !device.isRevoked, !block.additions.contains(key) else { continue }
      guard let revocation = batch.revocations.first(where: { $0.stated.key == key }) else {
        throw .revocationMissing
      }
      revoked.append(revocation)
    }
    for key in block.additions {
      guard let device = devices[key], !device.isRevoked,
        !chain.isOwn || device.account == chain.owner
      else { throw .deviceUnknown }
      counts[device.account, default: 0] += 1
    }
    guard counts[chain.owner] ?? 0 > 0 else { throw .ownerLeaves }
    return revoked
  }

  /// Refuses accounts that the author's must not add: strangers, those that blocked it, those that are in too many
  /// chains, and those that left while devices of them are members.
  private func admit(
    _ joining: Set<Identifier>, with counts: [Identifier: Int64],
    after before: [Identifier: Int64], to chain: Chain, _ owners: inout LockedOwners
  ) throws {
    let accounts = ChainAccounts(transaction: transaction, chain: chain)
    for account in joining where try accounts.hasLeft(account) {
      throw AccountRefusal.invitationNotTaken
    }
    for (account, count) in counts where count > 0 && before[account] == nil {
      // Held, so that the device is not revoked meanwhile, nor the account erased.
      let isSuspended = try owners.require(account).isSuspended
      guard account != caller.account else { continue }
      guard !isSuspended, try !Blocks.has(transaction, account, caller.account),
        try Contacts.areContacts(transaction, caller.account, account),
        try account == chain.owner || accounts.hasRoom(in: account, for: caller.account)
      else { throw AccountRefusal.invitationNotTaken }
    }
  }

  private func store(
    _ batch: ChainBatch, _ commit: Identifier?, _ members: ChainMembers, in chain: inout Chain
  ) throws {
    let last = batch.blocks.count - 1
    let stored = batch.blocks.enumerated().map { index, block in
      StoredBlock(block: block, stored: now, commit: index == last ? commit : nil)
    }
    try BlockRows(source: transaction, chain: chain.id).insert(stored)
    let rows = MemberRows(source: transaction, chain: chain.id)
    for block in batch.blocks {
      try rows.remove(block.removals)
      try rows.add(block.additions, at: block.epoch)
    }
    chain.head = members.head
    chain.memberCount = members.count
    chain.byteCount += stored.reduce(0) { $0 + $1.byteCount }
    try chain.save(transaction)
  }

  /// As `POST /v1/revocations` does it: by a signed request of a device of the account, with its statement.
  private func revoke(_ revocation: ChainBatch.Revocation) throws {
    try revocation.stated.require(account: caller.account, now: now)
    try Device.revoke(
      transaction, revocation.stated.key, of: caller.account, by: revocation.signature, now: now)
  }

  private func charge(
    _ byteCount: Int64, records: Int64 = 0, mustFit: Bool = true, _ reason: UsageReason,
    _ chain: Chain, _ owners: inout LockedOwners
  ) throws {
    let delta = byteCount + records * host.catalogue.metadataFeeByteCount
    if mustFit {
      try owners.require(chain.owner).requireRoom(
        for: delta, askedBy: caller.account, transaction, catalogue: host.catalogue, now: now)
    }
    try owners.charge(
      chain.owner, delta, records: records, reason: reason, file: chain.id, for: .chains, chain.id)
    try owners.save(transaction, now: now)
  }
}
