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

/// `POST /v1/devices`: authorizes another key by a statement that both keys have signed.
struct PostDevices: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/devices"

  typealias Body = (stated: KeyStatement, statement: Device.Statement, label: String)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let author = try request.credentials.requireSignature().keyID
    let json = try JSON.body(body)
    try json.requireMembers(["device", "label", "proof", "signature"])
    let label = try json["label"].optionalText(characterCountMax: Device.labelCharacterCountMax)
    let stated = try KeyStatement(.device, of: json)
    guard let key = Ed25519PublicKey(bytes: stated.key) else {
      throw RequestRefusal.bodyInvalid(path: "$.device.key", rule: "must be an Ed25519 public key")
    }
    let statement = Device.Statement(
      author: try stated.keySignature(of: json, by: author),
      proof: try stated.signature("proof", of: json, by: key))
    return (stated, statement, label ?? "")
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      try body.stated.require(account: account, now: now)
      let device = try Device.add(
        transaction, body.stated.key, to: account, label: body.label,
        statement: body.statement, now: now)
      return Outcome(201, device.json)
    }
  }
}

/// `POST /v1/revocations`: revokes a key, as stated by one of the account's keys.
struct PostRevocations: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/revocations"

  typealias Body = (stated: KeyStatement, revocation: KeySignature)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let author = try request.credentials.requireSignature().keyID
    let json = try JSON.body(body)
    try json.requireMembers(["revocation", "signature"])
    let stated = try KeyStatement(.revocation, of: json)
    return (stated, try stated.keySignature(of: json, by: author))
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      try body.stated.require(account: account, now: now)
      try Device.revoke(
        transaction, body.stated.key, of: account, by: body.revocation, now: now)
      return Outcome(status: 204, body: [])
    }
  }
}
