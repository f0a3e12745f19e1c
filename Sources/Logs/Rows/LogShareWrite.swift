import Accounts
import Base
import Storage

/// Changes of a log's shares. The rows of the log's owner and of the other account must be locked.
extension LogWrite {
  /// Grants a share to another account, or changes its mode and key. One that was not accepted is an invitation.
  func share(
    _ grant: LogGrant, of id: Identifier, with sharee: Identifier, _ owners: inout LockedOwners
  ) throws -> Outcome {
    let log = try writable(id, owners)
    guard sharee != account else { throw LogRefusal.shareWithOwner }
    guard owners.accounts.contains(sharee) else { throw AccountRefusal.accountNotFound }
    let before = try LogShare.find(transaction, id, sharee)
    if before == nil { try admit(sharee, to: log) }
    if before?.state == .pending, try Blocks.has(transaction, sharee, account) {
      throw AccountRefusal.invitationNotTaken
    }
    let share = LogShare(grant, of: log, to: sharee, in: before?.state ?? .pending, at: now)
    try share.save(transaction)
    try report(share, &owners)
    return Outcome(200, share.json)
  }

  /// Refuses a share beyond one of the limits, and an invitation that is not taken.
  private func admit(_ sharee: Identifier, to log: MessageLog) throws {
    guard try LogShare.all(transaction, of: log.id).count < LogShare.countMax else {
      throw LogRefusal.tooManyShares(max: LogShare.countMax)
    }
    try ShareLimit.require(
      1, of: account, transaction,
      Cap(transaction, account, catalogue: catalogue, now: now).limits(catalogue))
    guard try LogShare.count(transaction, with: sharee) < LogShare.receivedCountMax else {
      throw AccountRefusal.invitationNotTaken
    }
    try Invitations.admit(
      sharee, by: account, transaction, host.limits, catalogue: catalogue, now: now)
  }

  func acceptShare(of id: Identifier, _ owners: inout LockedOwners) throws -> Outcome {
    guard var share = try LogShare.find(transaction, id, account) else {
      throw LogRefusal.logNotFound
    }
    try owners.requireWritable([], by: account, transaction)
    share.state = .accepted
    try share.save(transaction)
    try report(share, &owners)
    return Outcome(200, share.json)
  }

  /// Ends a share: the owner revokes it, or the other account rejects it or gives it up. Taken from suspended accounts.
  func endShare(
    of id: Identifier, with sharee: Identifier, _ owners: inout LockedOwners
  ) throws -> Outcome {
    if sharee != account { _ = try SeenLog.own(transaction, id, by: account) }
    guard let share = try LogShare.find(transaction, id, sharee) else {
      throw sharee == account ? LogRefusal.logNotFound : .shareNotFound
    }
    try share.delete(transaction)
    try report(share, &owners)
    return Outcome(status: 204, body: [])
  }

  /// Tells both accounts of a change, and has it known anew whose news concern the other.
  private func report(_ share: LogShare, _ owners: inout LockedOwners) throws {
    for party in [share.owner, share.account] {
      _ = try owners.change(party) { $0.nextSequence(for: .logs, share.log) }
    }
    try owners.save(transaction, now: now)
    transaction.report(News(of: share.account, .account))
  }
}
