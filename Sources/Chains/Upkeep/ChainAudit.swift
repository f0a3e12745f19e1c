import Accounts
import Base
import Requests
import Storage

/// What a chain's blocks say, read in slices: that each is signed and follows the one before, and who the members are.
struct ChainAudit {
  private let chain: Identifier
  /// Nil before the root.
  private var members: ChainMembers?
  private var byteCount: Int64 = 0

  /// The signatures of so many take a fraction of a second.
  private static let sliceCountMax = 500
  private static let attemptCountMax = 5

  private init(_ chain: Identifier) { self.chain = chain }

  /// The faults of an account's chains, one line each; at most the first of each chain.
  static func faults(of account: Identifier, in database: Database) throws -> [String] {
    let chains = try database.read { reader in
      // Those of an account that is being erased go slice by slice.
      try Departure.find(account, reading: reader)?.hasBegun == true
        ? [] : Chain.all(reader, of: account)
    }
    return try chains.compactMap { chain in
      try walk(chain.id, in: database).fault.map { "of the chain \(chain.id), \($0)" }
    }
  }

  /// Corrects the bytes of an account's chains, besides those with a broken block. Returns how many were wrong.
  static func repair(_ account: Identifier, in database: Database) throws -> Int {
    var count = 0
    for chain in try database.read({ try Chain.all($0, of: account) }) {
      let walked = try walk(chain.id, in: database)
      guard let recorded = walked.chain, let byteCount = walked.byteCount,
        recorded.byteCount != byteCount
      else { continue }
      try database.write(for: account) { transaction in
        _ = try LockedOwners(transaction, [account])
        guard var current = try Chain.find(transaction, chain.id) else { return }
        guard current.head == recorded.head, current.replaced == recorded.replaced else {
          throw DatabaseError.busy(retryAfterSeconds: 1)
        }
        current.byteCount = byteCount
        try current.save(transaction)
      }
      count += 1
    }
    return count
  }

  private struct Walked {
    /// The row; nil if the chain is gone.
    let chain: Chain?
    /// The sum of the blocks; nil if one breaks a rule, because those after it are not read.
    let byteCount: Int64?
    let fault: String?
  }

  /// Reads all blocks. If the last one was replaced meanwhile, they are read again.
  private static func walk(_ id: Identifier, in database: Database) throws -> Walked {
    for _ in 0..<attemptCountMax {
      guard let before = try database.read({ try Chain.find($0, id) }) else { break }
      var audit = ChainAudit(id)
      var found: Walked?
      while found == nil { found = try database.read { try audit.slice($0) } }
      guard let found, let after = found.chain else { break }
      if before.replaced == after.replaced { return found }
    }
    if try database.read({ try Chain.find($0, id) }) != nil {
      throw DatabaseError.busy(retryAfterSeconds: 1)
    }
    return Walked(chain: nil, byteCount: nil, fault: nil)
  }

  /// Reads one slice of the blocks; with the last one, the rows that they must agree with. Nil if there are more.
  private mutating func slice(_ reader: Reader) throws -> Walked? {
    guard let chain = try Chain.find(reader, chain) else {
      return Walked(chain: nil, byteCount: nil, fault: nil)
    }
    let blocks = try BlockRows(source: reader, chain: chain.id)
      .after(members?.head.epoch ?? -1, limit: Self.sliceCountMax)
    for stored in blocks {
      byteCount += stored.byteCount
      if let rule = broken(by: stored.block) {
        let fault = "breaks the rule \(rule.rawValue): \(rule.sentence)"
        return Walked(
          chain: chain, byteCount: nil, fault: "the block \(stored.block.epoch) \(fault)")
      }
    }
    guard blocks.count < Self.sliceCountMax else { return nil }
    return Walked(chain: chain, byteCount: byteCount, fault: try fault(of: chain, reader))
  }

  /// Adds the next block. Returns the rule that it breaks.
  private mutating func broken(by block: ChainBlock) -> ChainRule? {
    if let forgery = block.forgery { return forgery }
    do throws(ChainRule) {
      if members == nil {
        members = try ChainMembers(root: block)
      } else {
        try members?.append(block)
      }
    } catch { return error }
    return nil
  }

  /// What of the rows does not fit the blocks; nil if everything does.
  private func fault(of chain: Chain, _ reader: Reader) throws -> String? {
    guard let members else { return "there is no root" }
    guard members.head == chain.head else {
      return "the last block is \(members.head.epoch), and the head \(chain.head.epoch) is another"
    }
    guard members.count == chain.memberCount else {
      return "\(members.count) devices are members, and the chain counts \(chain.memberCount)"
    }
    guard byteCount == chain.byteCount else {
      return "the blocks have \(byteCount) bytes, and the chain counts \(chain.byteCount)"
    }
    let rows = try MemberRows(source: reader, chain: chain.id).all()
    guard Dictionary(rows.map { ($0.publicKey, $0.since) }, uniquingKeysWith: max) == members.since
    else { return "the rows of the members are not those that the blocks make" }
    let counts = rows.reduce(into: [Identifier: Int64]()) { counts, member in
      if let account = member.account { counts[account, default: 0] += 1 }
    }
    let stored = try ChainAccounts.counts(reader, of: chain.id)
    for account in Set(counts.keys).union(stored.keys) where counts[account] != stored[account] {
      // One that is being erased loses its keys before its place in the chain.
      guard try Departure.find(account, reading: reader)?.hasBegun == true else {
        return "the counts of members by account are not those of the rows"
      }
    }
    return nil
  }
}
