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

extension ProtocolHost {
  /// Counts a request of a recovery key against its address.
  func countRecovery(_ head: RequestHead) throws(RecoveryRefusal) {
    guard !recoveries.spend(head.remoteAddress) else { return }
    throw .recoveryLimited(
      retryAfterSeconds: recoveries.secondsToWait(head.remoteAddress) ?? 1)
  }
}

/// `POST /v1/recovery`: the recovery key asks to read the key backup, and to let a device in if the body states one.
struct PostRecovery: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/recovery"

  /// A device that the recovery key vouches for.
  struct Stated: Sendable {
    let stated: KeyStatement
    let guest: Recovery.Guest
  }

  /// Before anything is computed for it.
  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> AccountRequest {
    try host.countRecovery(head)
    return try AccountRequest(head, captures, host.gate)
  }

  func inquire(_ request: AccountRequest) -> Inquiry? {
    { reader in
      _ = try RecoveryCaller.required(reader, request.credentials, now: host.clock.now())
    }
  }

  /// Returns nil if no device is stated.
  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Stated? {
    let author = try request.credentials.requireSignature().keyID
    let json = try JSON.body(body)
    try json.requireMembers(["device", "label", "proof", "signature"])
    guard json["device"].exists else { return nil }
    let label = try json["label"].optionalText(characterCountMax: Device.labelCharacterCountMax)
    let stated = try KeyStatement(.device, of: json)
    guard let key = Ed25519PublicKey(bytes: stated.key) else {
      throw RequestRefusal.bodyInvalid(path: "$.device.key", rule: "must be an Ed25519 public key")
    }
    let signed = try stated.keySignature(of: json, by: author)
    let guest = Recovery.Guest(
      key: stated.key, label: label ?? "", created: stated.created, signature: signed.signature,
      proof: try stated.signature("proof", of: json, by: key))
    return Stated(stated: stated, guest: guest)
  }

  func write(
    _ body: Stated?, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    let account = try RecoveryCaller.required(transaction, request.credentials, now: now)
      .key.account
    var owners = try LockedOwners(transaction, [account])
    // Read again under the lock: a device may have removed the key meanwhile.
    let key = try RecoveryCaller.required(transaction, request.credentials, now: now).key
    guard key.account == account else { throw OutdatedDecision() }
    return try Nonces.once(transaction, request.credentials) {
      try body?.stated.require(account: account, now: now)
      let recovery = try RecoveryWrite(transaction, of: account, now: now)
        .ask(key, for: body?.guest, &owners)
      return Outcome(201, recovery.json)
    }
  }
}

/// `GET /v1/recovery`: the account's recovery key, the versions of its backup, and what was asked for.
struct GetRecovery: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/recovery"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let account = try Caller(reader, request.credentials, now: now).account
    return [
      "recovery_key": try RecoveryKey.find(reader, of: account)?.json ?? .null,
      "backups": .array(try SealedBackup.list(reader, of: account)),
      "recoveries": .array(try Recovery.list(reader, of: account).map(\.json)),
    ]
  }
}

/// `DELETE /v1/recovery`: a device refuses what waits, or ends what is open. Takes no body.
struct DeleteRecovery: SignedWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/recovery"

  func write(
    _ body: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      guard
        try RecoveryWrite(transaction, of: locked.caller.account, now: now)
          .end(.refused, &locked.owners)
      else { throw RecoveryRefusal.recoveryNotFound }
      return Outcome(status: 204, body: [])
    }
  }
}
