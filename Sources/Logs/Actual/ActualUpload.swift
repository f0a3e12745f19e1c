import Accounts
import Base
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Objects
import Requests
import Storage
import Tiers

/// `POST /sync/upload-user-file`: a whole budget, which becomes the snapshot of its log in place of the one before.
///
/// The first upload creates the log. An upload after a reset begins an epoch, so that the messages before it stay out.
struct ActualUpload {
  let host: ProtocolHost
  private let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  /// No upload waits for another.
  private let later = Later(after: .milliseconds(100), capacity: 1)

  func admission(_ head: RequestHead, _ credentials: Credentials) throws -> Step<Admission> {
    let attempt = ContentUpload.Attempt(digest: nil, uploads)
    return try ActualUploadOf(credentials: credentials, host: host, attempt: attempt)
      .admission(head, [], on: host.database, pool: host.pool, later: later)
  }
}

private struct ActualUploadOf: Upload {
  let credentials: Credentials
  let host: ProtocolHost
  let attempt: ContentUpload.Attempt

  let byteCountMax: Int64 = 50 << 20

  struct Asked: Sendable {
    let uploaded: ActualFile.Uploaded
    /// The client's epoch of the file; nil if it knows none.
    let group: String?
    let byteCount: Int64
  }

  typealias Done = (account: Identifier, group: Identifier, byteCount: Int64)

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> Asked {
    func text(_ name: String) -> String? {
      head.headers.text(name).flatMap { $0.isEmpty ? nil : $0 }
    }
    guard let name = head.headers.combined("x-actual-name"), !name.isEmpty else {
      throw ActualRefusal.nameMissing
    }
    guard let decoded = PercentEncoding.decode(name),
      1...ActualFile.nameByteCountMax ~= decoded.utf8.count
    else { throw ActualRefusal.nameInvalid }
    guard let file = text("x-actual-file-id") else { throw ActualRefusal.fileMissing }
    guard ActualFile.isID(file) else { throw ActualRefusal.fileInvalid }
    let group = text("x-actual-group-id")
    if let group, !ActualFile.isID(group) { throw ActualRefusal.groupInvalid }
    let uploaded = ActualFile.Uploaded(
      file: file, name: decoded, format: text("x-actual-format").flatMap { Int64($0) } ?? 0,
      meta: try text("x-actual-encrypt-meta").map(Self.meta))
    // Clients send an archive of files, or its ciphertext. Nothing would take the place of the budget.
    guard head.contentLength != 0 else { throw ActualRefusal.bodyInvalid }
    return Asked(uploaded: uploaded, group: group, byteCount: head.contentLength ?? 0)
  }

  private static func meta(_ text: String) throws -> ActualFile.Meta {
    guard text.utf8.count <= ActualFile.metaByteCountMax,
      let json = try? JSON.parse(Array(text.utf8)),
      json.isObject
    else { throw ActualRefusal.metaInvalid }
    guard let key = json["keyId"].string else { throw ActualRefusal.metaWithoutKey }
    return ActualFile.Meta(text: text, key: key)
  }

  func inquire(_ asked: Asked) -> Inquiry? { nil }

  func lane(_ asked: Asked) -> Identifier? { credentials.lane }

  /// The upload's file, if there is one, of an account that may write; and the charge for the messages that the upload
  /// ends, because a client has reset the file.
  private func target(
    _ asked: Asked, _ transaction: Transaction, _ locked: LockedCaller
  ) throws -> (file: ActualFile, log: MessageLog, endedByteCount: Int64)? {
    let account = locked.caller.account
    try locked.owners.requireWritable([account], by: account, transaction)
    let file = try ActualFile.find(transaction, asked.uploaded.file, of: account)
    guard let file else { return nil }
    try file.requireUpload(ofGroup: asked.group, key: asked.uploaded.meta?.key)
    let log = try MessageLog.find(transaction, file.log, for: account)
    return (file, log, file.group == nil ? log.byteCount : 0)
  }

  func reserve(_ transaction: Transaction, _ asked: Asked, isLast: Bool) throws -> Asked? {
    let now = host.clock.now()
    let locked = try LockedCaller(transaction, credentials, now: now)
    let account = locked.caller.account
    let write = LogWrite(host: host, transaction: transaction, account: account, now: now)
    let object = ReservedObject(
      attempt.object, byteCount: asked.byteCount, instance: host.objects.instance,
      until: now + Reservations.lifetime)
    if let target = try target(asked, transaction, locked) {
      try write.reserveSnapshot(
        object, insteadOf: target.endedByteCount, of: target.log, by: credentials.proof.key,
        locked.owners)
    } else {
      let owner = try locked.owners.require(account)
      try Reservations.reserve(
        transaction, object, for: owner, from: account, by: credentials.proof.key, identity: nil,
        catalogue: host.catalogue, now: now
      ) { reserved in
        try owner.requireRoom(
          for: asked.byteCount + host.catalogue.metadataFeeByteCount, reserved: reserved,
          askedBy: account, transaction, catalogue: host.catalogue, now: now)
      }
    }
    return asked
  }

  func receive(_ asked: Asked) throws -> ContentUpload.Attempt {
    try attempt.open(in: host.objects)
    return attempt
  }

  func settle(_ asked: Asked, _ sink: ContentUpload.Attempt) throws { try sink.settle() }

  func transact(_ transaction: Transaction, _ asked: Asked) throws -> Done {
    let now = host.clock.now()
    var locked = try LockedCaller(transaction, credentials, now: now)
    let account = locked.caller.account
    let write = LogWrite(host: host, transaction: transaction, account: account, now: now)
    guard try Reservations.consume(transaction, attempt.object, now: now) else {
      throw ContentRefusal.reservationExpired
    }
    let target = try target(asked, transaction, locked)
    let log: MessageLog
    if let target {
      if target.file.group == nil {
        try write.reset(target.log, to: Random.identifier(), &locked.owners)
      }
      log = try MessageLog.find(transaction, target.log.id, for: account)
    } else {
      let id = Random.identifier()
      _ = try write.create(
        NewLog(id: id, name: Array(asked.uploaded.name.utf8)), &locked.owners)
      log = try MessageLog.find(transaction, id, for: account)
    }
    // No one says which messages it has. A device that reads all of them gets nothing wrong.
    _ = try write.putSnapshot(
      attempt.object, byteCount: asked.byteCount, covering: 0,
      insteadOf: target?.endedByteCount ?? 0, of: log, &locked.owners)
    try ActualFile.save(
      asked.uploaded, of: account, log: log.id, group: log.epoch, transaction)
    return (account: account, group: log.epoch, byteCount: asked.byteCount)
  }

  func release(_ transaction: Transaction, _ asked: Asked) throws {
    try Reservations.release(transaction, attempt.object)
  }

  /// Counted once the write is durable, because a transaction may run more than once.
  func respond(_ done: Done) -> Response {
    host.transfers.received(done.byteCount, of: done.account)
    credentials.meter.charge(Price.content(done.byteCount), for: .content)
    return ActualDoor.json(["status": "ok", "groupId": .string(done.group.description)])
  }
}
