import Accounts
import Base
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Requests
import Storage

/// `PUT /v1/key-backup`: stores what a device sealed for the recovery key, if the backup is at the version in If-Match.
struct PutKeyBackup: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = "/v1/key-backup"
  let bodyByteCountMax = SealedBackup.byteCountMax

  typealias Body = (preconditions: Preconditions, author: [UInt8], content: [UInt8])

  /// Without If-Match a device could replace a backup that it never saw.
  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let author = try request.credentials.requireSignature().keyID
    try request.head.requireWholeContent()
    let preconditions = try Preconditions(request.head.headers)
    guard preconditions.ifMatch != nil else { throw ContentRefusal.preconditionRequired }
    // A client that lost what it wanted to store would replace a sealed backup by nothing.
    guard !body.isEmpty else {
      throw RequestRefusal.bodyInvalid(path: "$", rule: "must not be empty")
    }
    return (preconditions: preconditions, author: author.bytes, content: body)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      try locked.owners.requireWritable([account], by: account, transaction)
      let version = try SealedBackup.find(transaction, of: account)?.version ?? 0
      let tag = EntityTag(version: version)
      guard body.preconditions.evaluate(current: tag, isSafe: false) == .holds else {
        throw ContentRefusal.versionChanged(current: version)
      }
      let next = History.version(after: version, at: try locked.owners.require(account).sequence)
      try SealedBackup.put(
        transaction, body.content, of: account, by: body.author, as: next, now: now)
      try RecoveryWrite(transaction, of: account, now: now).tell(&locked.owners)
      return Outcome(
        200, headers: [("ETag", EntityTag(version: next).field)],
        ["version": .integer(next), "bytes": .integer(Int64(body.content.count))])
    }
  }
}

/// `GET /v1/key-backup?version=<n>`: the sealed backup, for devices, and for the recovery key once its recovery is open.
struct GetKeyBackup: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/key-backup"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> SealedBackup {
    let account = try account(request, reader, now: now)
    var version: Int64?
    for (name, value) in queryFields(request.head.query) where name == "version" {
      guard let number = Int64(value), number > 0 else { throw RecoveryRefusal.keyBackupNotFound }
      version = number
    }
    guard let backup = try SealedBackup.find(reader, of: account, version: version) else {
      throw RecoveryRefusal.keyBackupNotFound
    }
    return backup
  }

  private func account(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> Identifier {
    guard let caller = try RecoveryCaller(reader, request.credentials) else {
      return try Caller(reader, request.credentials, now: now).account
    }
    try host.countRecovery(request.head)
    let live = try Recovery.live(reader, of: caller.key.account)
    guard let live, live.key == caller.key.publicKey, live.isOpen(at: now) else {
      throw RecoveryRefusal.recoveryNotOpen(opens: live?.opens)
    }
    return caller.key.account
  }

  func respond(_ backup: SealedBackup, to request: AccountRequest) -> Response {
    Response(
      status: 200,
      headers: [
        ("Content-Type", "application/octet-stream"),
        ("ETag", EntityTag(version: backup.version).field),
      ], body: .bytes(backup.content))
  }
}
