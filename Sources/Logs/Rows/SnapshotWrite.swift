package import Accounts
package import Base
import Requests
import Storage

/// The way of a snapshot into its log: reserved before its first byte, and put once its object is durable.
extension LogWrite {
  /// Reserves an object and the room for it. `actorKey` and `identity` name the upload among those of one device, and
  /// `number` is the last message that the snapshot has, if a device may begin an epoch with it. `ended` is the charge
  /// for messages that end with the snapshot before.
  package func reserveSnapshot(
    _ object: ReservedObject, covering number: Int64? = nil, insteadOf ended: Int64 = 0,
    of log: MessageLog, by actorKey: [UInt8], identity: [UInt8]? = nil, _ owners: LockedOwners
  ) throws {
    let owner = try owners.require(log.owner)
    try Reservations.reserve(
      transaction, object, for: owner, from: account, by: actorKey, identity: identity,
      catalogue: host.catalogue, now: now
    ) { reserved in
      try requireRoom(
        for: object.byteCount, covering: number, insteadOf: ended, of: log, owner,
        reserved: reserved)
    }
  }

  /// Stores what its device made of the epoch's first `number` messages, in the transaction that consumes the object's
  /// reservation. The one before goes unless an epoch that can be taken back has it. `ended` is the charge for messages
  /// that have ended in the same transaction. Returns the new one's version.
  package func putSnapshot(
    _ object: Identifier, byteCount: Int64, covering number: Int64, insteadOf ended: Int64 = 0,
    of log: MessageLog, _ owners: inout LockedOwners
  ) throws -> Int64 {
    guard 0...log.messageCount ~= number else { throw LogRefusal.cursorInvalid }
    // Compared with the usage from before they ended, as when the room was reserved.
    try requireRoom(
      for: byteCount, covering: number, insteadOf: ended, of: log, owners.require(log.owner),
      reserved: ended)
    let version = try charge(
      byteCount - log.snapshotByteCount, .contentChanged, log.id, of: log.owner, &owners)
    try LogSnapshot.insert(
      transaction, object, of: log, version: version, byteCount: byteCount, covering: number,
      now: now)
    return version
  }

  /// Refuses a snapshot that has no room and is larger than the one before, and than all the messages that it has: an
  /// account that is full of messages must be able to begin an epoch without them.
  private func requireRoom(
    for byteCount: Int64, covering number: Int64?, insteadOf ended: Int64, of log: MessageLog,
    _ owner: LockedOwner, reserved: Int64
  ) throws {
    let limits = try Cap(transaction, log.owner, catalogue: host.catalogue, now: now)
      .limits(host.catalogue)
    try owner.requireSize(byteCount, insteadOf: log.snapshotByteCount, limits)
    guard number != log.messageCount || byteCount > log.byteCount else { return }
    try owner.requireRoom(
      for: byteCount - log.snapshotByteCount - ended, reserved: reserved, askedBy: account,
      transaction, catalogue: host.catalogue, now: now)
  }
}
