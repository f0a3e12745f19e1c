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

/// `POST /v1/sessions`: a bearer token for an hour. Takes no body. Each request is answered once.
struct PostSessions: SignedWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/sessions"

  func write(
    _ body: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Sessions.New {
    try Sessions.create(transaction, request.credentials, now: now)
  }

  func respond(_ session: Sessions.New, to input: AccountInput<Void>) -> Response {
    Outcome(201, session.json).response
  }
}

/// `GET /v1/sessions`: the account's sessions, at most 64.
struct GetSessions: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/sessions"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    return try Sessions.list(
      reader, of: caller.account, askedBy: request.credentials.proof, now: now)
  }
}

/// `DELETE /v1/sessions/{id}`: ends a session by its id, or the caller's own (`current`).
struct DeleteSession: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/sessions/{id}"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Sessions.Name {
    try Sessions.Name(request.captures[0])
  }

  func write(
    _ name: Sessions.Name, of request: AccountRequest, in transaction: Transaction,
    now: Instant
  ) throws -> Outcome {
    try Sessions.end(transaction, name, request.credentials, now: now)
  }
}

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
