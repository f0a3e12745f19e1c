import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `POST /v1/app-passwords`: a password for an app that has no device key. Each request is answered once.
struct PostAppPasswords: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/app-passwords"

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> String {
    _ = try request.credentials.requireSignature()
    let json = try JSON.body(body)
    try json.requireMembers(["label"])
    return try json["label"].optionalText(characterCountMax: AppPassword.labelCharacterCountMax)
      ?? ""
  }

  func write(
    _ label: String, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> AppPassword.New {
    try AppPassword.create(transaction, request.credentials, label: label, now: now)
  }

  func respond(_ new: AppPassword.New, to input: AccountInput<String>) -> Response {
    Outcome(201, new.json).response
  }
}

/// `GET /v1/app-passwords`: the account's app passwords, without the passwords themselves.
struct GetAppPasswords: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/app-passwords"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let passwords = try AppPassword.list(reader, of: caller.account)
    return ["app_passwords": .array(passwords.map(\.json))]
  }
}

/// `DELETE /v1/app-passwords/{id}`: revokes an app password. Takes no body.
struct DeleteAppPassword: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/app-passwords/{id}"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> String {
    _ = try request.credentials.requireSignature()
    return String(request.captures[0])
  }

  func write(
    _ id: String, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      guard try AppPassword.revoke(transaction, id, of: locked.caller.account) != nil else {
        throw AccountRefusal.appPasswordNotFound
      }
      return Outcome(status: 204, body: [])
    }
  }
}
