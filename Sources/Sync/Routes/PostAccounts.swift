import Accounts
import Base
import Configuration
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Requests
import Storage

/// `POST /v1/accounts`: registers the key that signs the request, if the operator allows it.
struct PostAccounts: SyncWrite {
  let api: SyncAPI
  let method = "POST"
  let pattern = "/v1/accounts"

  var host: ProtocolHost { api.host }

  struct Body: Sendable {
    let account: NewAccount
    /// The invite's code, if accounts are opened by invites.
    let code: String?
  }

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> AccountRequest {
    try api.refuseRegistration(head)
    return try AccountRequest(head, captures, host.gate)
  }

  /// The key may be unknown.
  func inquire(_ request: AccountRequest) -> Inquiry? { nil }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    try api.countRegistration(request.head)
    let json = try JSON.body(body)
    try json.requireMembers(["invite", "root", "username"])
    let code = try json["invite"].optionalText(characterCountMax: Invite.codeCharacterCountMax)
    if api.registration == .invite, code == nil { throw AccountRefusal.inviteRequired }
    let username = try json["username"].optionalText(
      characterCountMax: Username.characterCountMax
    ).map { text throws(RequestRefusal) in
      guard let username = Username(text) else {
        throw .bodyInvalid(
          path: "$.username", rule: "must be 1 to 32 of a-z, 0-9, dot, underscore and hyphen")
      }
      return username
    }
    let signature = try request.credentials.requireSignature()
    let account = NewAccount(
      id: Account.identifier(firstKey: signature.keyID.bytes), username: username,
      root: try json["root"].identifier(), publicKey: signature.keyID.bytes)
    return Body(account: account, code: api.registration == .invite ? code : nil)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try Nonces.once(transaction, request.credentials) {
      let account: Account
      do {
        let invite = try body.code.map { try Invite.use(transaction, $0, now: now) }
        account = try body.account.create(
          transaction, by: invite, catalogue: host.catalogue, now: now)
      } catch let refusal as AccountRefusal {
        // The caller had no row to lock, so the refusal may be caused by the request's own effect,
        // which another instance wrote meanwhile.
        if try Nonces.recorded(transaction, request.credentials) != nil {
          throw OutdatedDecision()
        }
        throw refusal
      }
      let cap = try Cap(transaction, account.id, catalogue: host.catalogue, now: now)
      return Outcome(201, headers: [("Location", "/v1/account")], account.json(cap))
    }
  }
}
