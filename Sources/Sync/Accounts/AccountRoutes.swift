internal import Base
internal import Crypto
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import HTTPSignatures
internal import JSON
internal import Storage

/// Accounts, their devices and sessions.
extension SyncAPI {
  /// `POST /v1/accounts`: registers the key that signs the request.
  var createAccount: Route {
    write("POST", "/v1/accounts") { request, body in
      let json = try JSON.body(body)
      let username = try json["username"].optionalText(
        characterCountMax: Username.characterCountMax
      ).map { text throws(Refusal) in
        guard let username = Username(text) else {
          throw .bodyInvalid(
            path: "$.username", rule: "must be 1 to 32 of a-z, 0-9, dot, underscore and hyphen")
        }
        return username
      }
      let signature = try request.credentials.requireSignature()
      return NewAccount(
        id: Random.identifier(), username: username, root: try json["root"].identifier(),
        publicKey: signature.keyID.bytes)
    } transact: { transaction, request, new, now in
      try Nonces.once(transaction, request.credentials) {
        let account = try new.create(transaction, catalogue: catalogue, now: now)
        let cap = try Cap(transaction, account.id, catalogue: catalogue, now: now)
        return Outcome(201, headers: [("Location", "/v1/account")], account.json(cap))
      }
    }.route(on: database)
  }

  /// `GET /v1/account`: who the caller is, what it uses and may use, which keys act for it, and what
  /// this month and the last one moved, as of some seconds ago.
  var readAccount: Route {
    read("/v1/account") { reader, request, now in
      let caller = try Caller(reader, request.credentials, now: now)
      guard let account = try Account.find(reader, caller.account) else {
        throw Refusal.unknownKey
      }
      let cap = try Cap(reader, account.id, catalogue: catalogue, now: now)
      return account.json(
        cap, devices: try Device.list(reader, of: account.id),
        transfers: try Transfers.recent(reader, account.id, now: now))
    } respond: { json, _ in
      .json(200, json)
    }
  }

  /// `POST /v1/sessions`: a bearer token for an hour. Takes no body.
  var createSession: Route {
    write("POST", "/v1/sessions", bodyByteCountMax: 0) { request, _ in
      try request.credentials.requireSignature()
    } transact: { transaction, request, _, now in
      try Sessions.create(transaction, request.credentials, now: now)
    } finish: { outcome, request in
      Sessions.reveal(outcome, to: try request.credentials.requireSignature())
    }.route(on: database)
  }

  /// `POST /v1/devices`: lets another key act for the account.
  var addDevice: Route {
    write("POST", "/v1/devices") { request, body in
      _ = try request.credentials.requireSignature()
      let json = try JSON.body(body)
      let key = try json["public_key"].base64(byteCount: 32...32)
      guard Ed25519PublicKey(bytes: key) != nil else {
        throw Refusal.bodyInvalid(path: "$.public_key", rule: "must be an Ed25519 public key")
      }
      let label = try json["label"].optionalText(
        characterCountMax: Device.labelCharacterCountMax)
      return (key: key, label: label ?? "")
    } transact: { transaction, request, new, now in
      let locked = try LockedCaller(transaction, request.credentials, now: now)
      return try Nonces.once(transaction, request.credentials) {
        let device = try Device.add(
          transaction, new.key, to: locked.caller.account, label: new.label, now: now)
        return Outcome(201, device.json)
      }
    }.route(on: database)
  }

  /// `DELETE /v1/devices/{key}`: revokes a key, written in base64url.
  var revokeDevice: Route {
    write("DELETE", "/v1/devices/{key}", bodyByteCountMax: 0) { request, _ in
      _ = try request.credentials.requireSignature()
      guard let key = Base64.url.decode(request.captures[0]), key.count == 32 else {
        throw Refusal.keyNotFound
      }
      return key
    } transact: { transaction, request, key, now in
      let locked = try LockedCaller(transaction, request.credentials, now: now)
      return try Nonces.once(transaction, request.credentials) {
        try Device.revoke(transaction, key, of: locked.caller.account, now: now)
        return Outcome(status: 204, body: [])
      }
    }.route(on: database)
  }
}
