import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage

/// `PUT /v1/logs/{id}/snapshot?covers=<cursor>`: stores what a device made of a log's messages up to a cursor, if the
/// snapshot is at the version in If-Match. It goes through an object, whatever its size.
struct PutSnapshot: ContentPut {
  let host: ProtocolHost
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  let later = Later(after: .milliseconds(100), capacity: 64)
  let kind = "snapshot"
  let pattern = "/v1/logs/{id}/snapshot"

  func id(_ request: AccountRequest) throws -> Identifier { try request.log() }

  private struct Target {
    let log: MessageLog
    let covered: Int64
    let write: LogWrite

    init(
      _ transaction: Transaction, _ asked: ContentWrite, _ locked: LockedCaller,
      _ host: ProtocolHost, now: Instant
    ) throws {
      let account = locked.caller.account
      log = try SeenLog.own(transaction, asked.id, by: account)
      try locked.owners.requireWritable([log.owner], by: account, transaction)
      try BudgetOfLog.requireNone(of: log.id, transaction)
      let covers = queryFields(asked.query).first { $0.name == "covers" }?.value ?? ""
      covered = try log.number(at: LogCursor(covers), transaction)
      try asked.requireVersion(log.snapshot?.version ?? 0)
      write = LogWrite(host: host, transaction: transaction, account: account, now: now)
    }
  }

  func lock(
    _ transaction: Transaction, _ write: ContentWrite, now: Instant
  ) throws -> LockedWrite {
    let locked = try LockedCaller(transaction, write.credentials, now: now)
    return LockedWrite(by: locked.caller) { object in
      let target = try Target(transaction, write, locked, host, now: now)
      try target.write.reserveSnapshot(
        object, covering: target.covered, of: target.log, by: locked.caller.publicKey,
        identity: write.identity, locked.owners)
      return target.log.owner
    }
  }

  func commit(
    _ transaction: Transaction, _ write: ContentWrite, _ object: Identifier, byteCount: Int64,
    now: Instant
  ) throws -> WrittenContent {
    try once(transaction, write, object, byteCount: byteCount, now: now) { locked in
      let target = try Target(transaction, write, locked, host, now: now)
      let version = try target.write.putSnapshot(
        object, byteCount: byteCount, covering: target.covered, of: target.log, &locked.owners)
      let log = try MessageLog.find(transaction, target.log.id, for: locked.caller.account)
      let outcome = Outcome(
        200, headers: [("ETag", EntityTag(version: version).field)],
        .object(try log.members(transaction)))
      return WrittenContent(outcome: outcome, owner: target.log.owner, byteCount: byteCount)
    }
  }

  func abandon(
    _ transaction: Transaction, _ object: Identifier, byteCount: Int64, of id: Identifier
  ) throws {
    try LogSnapshot.abandon(transaction, object, byteCount: byteCount, of: id)
  }
}
