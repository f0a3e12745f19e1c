import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Requests
import Storage

/// `POST /v1/revocations`: revokes a key, as stated by one of the account's keys.
struct PostRevocations: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/revocations"

  struct Body: Sendable {
    let stated: KeyStatement
    let revocation: KeySignature
  }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let author = try request.credentials.requireSignature().keyID
    let json = try JSON.body(body)
    try json.requireMembers(["revocation", "signature"])
    let stated = try KeyStatement(.revocation, of: json)
    return Body(stated: stated, revocation: try stated.keySignature(of: json, by: author))
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
