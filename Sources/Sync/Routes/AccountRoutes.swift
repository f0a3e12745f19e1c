internal import Base
internal import Configuration
internal import Crypto
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import HTTPSignatures
internal import JSON
internal import Storage

/// Accounts, their devices and sessions.
extension SyncAPI {
  /// `POST /v1/accounts`: registers the key that signs the request, where the operator lets it.
  var createAccount: Route {
    write("POST", "/v1/accounts", registers: true) { request, body in
      try countRegistration(request.head)
      let json = try JSON.body(body)
      try json.requireMembers(["invite", "root", "username"])
      let code = try json["invite"].optionalText(
        characterCountMax: Invite.codeCharacterCountMax)
      if registration == .invite, code == nil { throw Refusal.inviteRequired }
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
      let new = NewAccount(
        id: Account.identifier(firstKey: signature.keyID.bytes), username: username,
        root: try json["root"].identifier(), publicKey: signature.keyID.bytes)
      return (account: new, code: registration == .invite ? code : nil)
    } transact: { transaction, request, new, now in
      try Nonces.once(transaction, request.credentials) {
        let account: Account
        do {
          let invite = try new.code.map { try Invite.use(transaction, $0, now: now) }
          account = try new.account.create(
            transaction, by: invite, catalogue: catalogue, now: now)
        } catch let refusal as Refusal {
          // There was no row of the caller's to lock: what it is refused for may be its own effect,
          // brought about by another instance meanwhile.
          if try Nonces.recorded(transaction, request.credentials) != nil {
            throw OutdatedDecision()
          }
          throw refusal
        }
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

  /// `POST /v1/sessions`: a bearer token for an hour. Takes no body, and answers a request once.
  var createSession: Route {
    write("POST", "/v1/sessions", bodyByteCountMax: 0) { request, _ in
      _ = try request.credentials.requireSignature()
    } transact: { transaction, request, _, now in
      try Sessions.create(transaction, request.credentials, now: now)
    } finish: { session, _ in
      Outcome(201, session.json)
    }.route(on: database)
  }

  /// `GET /v1/sessions`: the account's sessions, at most 64.
  var readSessions: Route {
    read("/v1/sessions") { reader, request, now in
      let caller = try Caller(reader, request.credentials, now: now)
      return try Sessions.list(
        reader, of: caller.account, askedBy: request.credentials.proof, now: now)
    } respond: { json, _ in
      .json(200, json)
    }
  }

  /// `DELETE /v1/sessions/{id}`: ends a session by its id, or the one that asks (`current`).
  var endSession: Route {
    write("DELETE", "/v1/sessions/{id}", bodyByteCountMax: 0) { request, _ in
      try Sessions.Name(request.captures[0])
    } transact: { transaction, request, name, now in
      try Sessions.end(transaction, name, request.credentials, now: now)
    }.route(on: database)
  }

  /// `POST /v1/devices`: lets another key act for the account. Both that key and the one that signs
  /// the request have signed the statement.
  var addDevice: Route {
    write("POST", "/v1/devices") { request, body in
      let author = try request.credentials.requireSignature().keyID
      let json = try JSON.body(body)
      try json.requireMembers(["device", "label", "proof", "signature"])
      let label = try json["label"].optionalText(
        characterCountMax: Device.labelCharacterCountMax)
      let stated = try KeyStatement(.device, of: json)
      guard let key = Ed25519PublicKey(bytes: stated.key) else {
        throw Refusal.bodyInvalid(path: "$.device.key", rule: "must be an Ed25519 public key")
      }
      let statement = Device.Statement(
        author: KeySignature(
          created: stated.created, author: author.bytes,
          signature: try stated.signature("signature", of: json, by: author)),
        proof: try stated.signature("proof", of: json, by: key))
      return (stated: stated, statement: statement, label: label ?? "")
    } transact: { transaction, request, new, now in
      let account = try LockedCaller(transaction, request.credentials, now: now).caller.account
      return try Nonces.once(transaction, request.credentials) {
        try new.stated.require(account: account, now: now)
        try Device.add(
          transaction, new.stated.key, to: account, label: new.label, statement: new.statement,
          now: now)
        return Outcome(201, Device.json(new.stated.key, label: new.label, added: now))
      }
    }.route(on: database)
  }

  /// `POST /v1/revocations`: a key acts for the account no more, as one of its keys states.
  var revokeDevice: Route {
    write("POST", "/v1/revocations") { request, body in
      let author = try request.credentials.requireSignature().keyID
      let json = try JSON.body(body)
      try json.requireMembers(["revocation", "signature"])
      let stated = try KeyStatement(.revocation, of: json)
      let revocation = KeySignature(
        created: stated.created, author: author.bytes,
        signature: try stated.signature("signature", of: json, by: author))
      return (stated: stated, revocation: revocation)
    } transact: { transaction, request, end, now in
      let account = try LockedCaller(transaction, request.credentials, now: now).caller.account
      return try Nonces.once(transaction, request.credentials) {
        try end.stated.require(account: account, now: now)
        try Device.revoke(
          transaction, end.stated.key, of: account, by: end.revocation, now: now)
        return Outcome(status: 204, body: [])
      }
    }.route(on: database)
  }
}
