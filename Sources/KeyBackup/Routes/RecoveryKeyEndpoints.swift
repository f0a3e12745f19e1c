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

/// `PUT /v1/recovery-key`: names the account's recovery key. It and the request's key have signed the statement.
struct PutRecoveryKey: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = "/v1/recovery-key"

  typealias Body = (stated: KeyStatement, author: KeySignature, proof: [UInt8])

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let author = try request.credentials.requireSignature().keyID
    let json = try JSON.body(body)
    try json.requireMembers(["recovery", "proof", "signature"])
    let stated = try KeyStatement(.recovery, of: json)
    guard let key = Ed25519PublicKey(bytes: stated.key) else {
      throw RequestRefusal.bodyInvalid(
        path: "$.recovery.key", rule: "must be an Ed25519 public key")
    }
    return (
      stated: stated, author: try stated.keySignature(of: json, by: author),
      proof: try stated.signature("proof", of: json, by: key)
    )
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      try body.stated.require(account: account, now: now)
      try locked.owners.requireWritable([account], by: account, transaction)
      let key = RecoveryKey(
        account: account, publicKey: body.stated.key, delayDays: body.stated.delayDays ?? 0,
        named: now, author: body.author, proof: body.proof)
      let former = try RecoveryKey.find(transaction, of: account)
      try key.name(transaction)
      let write = RecoveryWrite(transaction, of: account, now: now)
      // An app may name the key again that it has, which must not end what the owner waits for.
      let isSame = former?.publicKey == key.publicKey && former?.delayDays == key.delayDays
      let hasEnded = try isSame ? false : write.end(.ended, &locked.owners)
      if !hasEnded { try write.tell(&locked.owners) }
      return Outcome(200, key.json)
    }
  }
}

/// `DELETE /v1/recovery-key`: removes the recovery key at once, with what it asked for. Takes no body.
struct DeleteRecoveryKey: SignedWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/recovery-key"

  func write(
    _ body: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      guard try RecoveryKey.end(transaction, of: account, now: now) else {
        throw RecoveryRefusal.recoveryKeyNotFound
      }
      let write = RecoveryWrite(transaction, of: account, now: now)
      if try !write.end(.ended, &locked.owners) { try write.tell(&locked.owners) }
      return Outcome(status: 204, body: [])
    }
  }
}
