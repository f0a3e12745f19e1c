import Accounts
import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// How keys are added to an account and revoked, and what others can check about them.
@Suite struct DeviceTests {
  private func admission(
    _ device: TestDevice, of other: TestDevice,
    _ change: (inout TestDevices.KeyStatement) throws -> Void = { _ in },
    proofBy proof: Ed25519PrivateKey? = nil, signedBy signer: Ed25519PrivateKey? = nil
  ) throws -> JSONValue {
    var statement = try device.state(.device, other.key.publicKey.bytes)
    try change(&statement)
    return [
      "device": statement.json, "proof": statement.signature(by: proof ?? other.key),
      "signature": statement.signature(by: signer ?? device.key),
    ]
  }

  @Test(arguments: TestEngine.available)
  func `who merely saw a key can neither register it nor keep its holder from doing so`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (mallory, victim) = (try server.register(), server.device())
    let answer = try mallory.post(
      "/v1/devices", admission(mallory, of: victim, proofBy: mallory.key))
    #expect(answer.status == 400)
    #expect(try answer.problem == "body_invalid")
    #expect(try answer.json["path"].string == "$.proof")
    #expect(
      try victim.post("/v1/accounts", ["root": .string(victim.root.description)]).status == 201)
  }

  @Test(arguments: TestEngine.available)
  func `a key that an operator added acts for the account, and its other keys are shown it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (lost, found) = (try server.register(), server.device())
    #expect(try lost.updates().json["operator_keys"].array?.isEmpty == true)
    try server.addByOperator(found.key, to: lost.account, label: "new phone")

    let account = try found.get("/v1/account").json
    #expect(try account["account"].string == lost.account.description)
    let marked = account["devices"].array?.filter { $0["by_operator"].bool == true }
    #expect(marked?.count == 1 && account["devices"].array?.count == 2)
    let shown = try lost.updates().json["operator_keys"]
    #expect(shown.array?.count == 1)
    #expect(shown[0]["public_key"].string == Base64.standard.encode(found.key.publicKey.bytes))
    #expect(shown[0]["label"].string == "new phone")
    #expect(try lost.revoke(key: found.key.publicKey.bytes).status == 204)
    #expect(try lost.updates().json["operator_keys"].array?.isEmpty == true)
  }

  @Test func `nobody can prove that a key of an operator's belongs to the account`() throws {
    let server = try TestServer()
    let (lost, found, other) = (try server.register(), server.device(), try server.register())
    try server.addByOperator(found.key, to: lost.account)
    let chain = KeyChain { key in try other.get("/v1/directory?key=\(key)").json }
    #expect(try chain.proves(lost.key.publicKey.bytes, of: lost.account))
    #expect(try !chain.proves(found.key.publicKey.bytes, of: lost.account))
    // It admits the next device, which is as unproven as itself.
    let next = server.device(root: lost.root)
    #expect(try found.admit(next).status == 201)
    #expect(try !chain.proves(next.key.publicKey.bytes, of: lost.account))
  }

  @Test func `a key that is or was somebody's is added by no operator`() throws {
    let server = try TestServer()
    let (alice, bob, phone) = (try server.register(), try server.register(), server.device())
    #expect(try alice.admit(phone).status == 201)
    #expect(try alice.revoke(key: phone.key.publicKey.bytes).status == 204)
    for key in [alice.key, phone.key] {
      #expect(throws: AccountRefusal.self) { try server.addByOperator(key, to: bob.account) }
    }
  }

  @Test func `a key's proof for one account does not register it for another`() throws {
    let server = try TestServer()
    let (alice, mallory) = (try server.register(), try server.register())
    let phone = server.device(root: alice.root)
    var stolen = try alice.state(.device, phone.key.publicKey.bytes)
    let proof = stolen.signature(by: phone.key)
    let elsewhere = try mallory.post(
      "/v1/devices",
      [
        "device": stolen.json, "proof": proof, "signature": stolen.signature(by: mallory.key),
      ])
    #expect(try elsewhere.json["path"].string == "$.device.account")
    stolen.account = try mallory.account
    let renamed = try mallory.post(
      "/v1/devices",
      ["device": stolen.json, "proof": proof, "signature": stolen.signature(by: mallory.key)])
    #expect(try renamed.json["path"].string == "$.proof")
    #expect(try alice.admit(phone).status == 201)
  }

  @Test func `a statement is signed by the device that sends it`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let phone = server.device(root: alice.root)
    for signer in [phone.key, bob.key] {
      let answer = try alice.post("/v1/devices", admission(alice, of: phone, signedBy: signer))
      #expect(try answer.json["path"].string == "$.signature")
    }
    #expect(try phone.get("/v1/account").problem == "unknown_key")
  }

  @Test(arguments: [-86_401, 301, -9_007_199_254_740_993, .min, .max])
  func `a statement of another time is refused`(seconds: Int64) throws {
    let server = try TestServer()
    let alice = try server.register()
    let phone = server.device(root: alice.root)
    let created = server.clock.now.seconds.addingReportingOverflow(seconds).partialValue
    let stated: JSONValue = [
      "account": .string(try alice.account.description), "created": .integer(created),
      "key": .string(Base64.standard.encode(phone.key.publicKey.bytes)),
    ]
    let signature = JSONValue.string(Base64.standard.encode([UInt8](repeating: 0, count: 64)))
    let isCanonical = 0...1 << 53 ~= created
    let answer = try alice.post(
      "/v1/devices",
      isCanonical
        ? admission(alice, of: phone) { $0.created = created }
        : ["device": stated, "proof": signature, "signature": signature])
    #expect(answer.status == 400)
    #expect(try answer.json["path"].string == "$.device.created")
  }

  @Test(arguments: [-86_400, 300])
  func `a statement may be a day old, and of a clock that is five minutes ahead`(
    seconds: Int64
  ) throws {
    let server = try TestServer()
    let alice = try server.register()
    let phone = server.device(root: alice.root)
    let created = server.clock.now.seconds + seconds
    let body = try admission(alice, of: phone) { $0.created = created }
    #expect(try alice.post("/v1/devices", body).status == 201)
  }

  @Test func `an account is named after its first key`() throws {
    let server = try TestServer()
    let device = try server.register()
    #expect(try device.account == KeyChain.account(openedBy: device.key.publicKey.bytes))
    // SHA-256 of the text and 32 zero bytes, computed by another program (Python's hashlib).
    #expect(
      KeyChain.account(openedBy: [UInt8](repeating: 0, count: 32)).description
        == "3c8deb03-0c29-8c7f-a1bc-7098db9e0239")
  }

  @Test func `a key has a life that ends once, and is told of it`() throws {
    let server = try TestServer()
    let alice = try server.register()
    let phone = server.device(root: alice.root)
    #expect(try alice.admit(phone, label: "phone").json["label"].string == "phone")
    #expect(try alice.admit(phone).problem == "key_registered")
    let key = phone.key.publicKey.bytes
    #expect(try phone.revoke(key: key).status == 204)
    #expect(try alice.revoke(key: key).problem == "key_not_found")
    #expect(try alice.admit(phone).problem == "key_registered")
    let listed = try alice.get("/v1/account").json["devices"].array ?? []
    #expect(
      listed.map { $0["public_key"].string }
        == [Base64.standard.encode(alice.key.publicKey.bytes)])
  }

  @Test func `a revocation is signed by the device that sends it, and names its account`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let phone = server.device(root: alice.root)
    #expect(try alice.admit(phone).status == 201)
    var statement = try alice.state(.revocation, phone.key.publicKey.bytes)
    func revoke(by key: Ed25519PrivateKey) throws -> Answer {
      try alice.post(
        "/v1/revocations",
        ["revocation": statement.json, "signature": statement.signature(by: key)])
    }
    #expect(try revoke(by: bob.key).json["path"].string == "$.signature")
    // The signature of an admission revokes nothing.
    let admitted = try alice.state(.device, phone.key.publicKey.bytes)
    let mixed = try alice.post(
      "/v1/revocations",
      ["revocation": statement.json, "signature": admitted.signature(by: alice.key)])
    #expect(try mixed.json["path"].string == "$.signature")
    let noted = try alice.post(
      "/v1/revocations",
      [
        "revocation": statement.json, "signature": statement.signature(by: alice.key),
        "note": "lost",
      ])
    #expect(try noted.json["path"].string == "$.note")
    statement.account = try bob.account
    #expect(try revoke(by: alice.key).json["path"].string == "$.revocation.account")
    #expect(try phone.get("/v1/account").status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `an account has so many keys at a time, and so many in its life`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    for _ in 0..<63 { #expect(try device.admit(server.device()).status == 201) }
    #expect(try device.admit(server.device()).problem == "too_many_keys")
    let other = try server.register()
    try server.fillKeys(of: other.account)
    let answer = try other.admit(server.device())
    #expect(answer.status == 409)
    #expect(try answer.problem == "keys_used_up")
  }

  @Test(arguments: TestEngine.available)
  func `revoked keys are told to who asks for them, and to nobody else`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let phone = server.device(root: alice.root)
    #expect(try alice.admit(phone).status == 201)
    #expect(try alice.revoke(key: phone.key.publicKey.bytes).status == 204)
    try server.fillKeys(of: alice.account)
    let account = try alice.account
    let before = server.database.readWork
    let whole = try bob.get("/v1/directory?account=\(account)")
    // The rows of the requesting key, the account, and its one key.
    #expect((server.database.readWork - before).returnedRowCount <= 3)
    #expect(try whole.json["keys"].array?.count == 1)
    #expect(whole.body.count < 1000)
    #expect(try alice.get("/v1/account").body.count < 1500)
    let asked = try bob.get(
      "/v1/directory?key=\(Base64.url.encode(phone.key.publicKey.bytes))"
    ).json
    #expect(asked["account"].string == (try alice.account.description))
    let entry = try #require(
      asked["keys"].array?.first {
        $0["public_key"].string == Base64.standard.encode(phone.key.publicKey.bytes)
      })
    #expect(entry["revoked"].string != nil)
    let statement = TestDevices.KeyStatement(
      .revocation, account: try alice.account, key: phone.key.publicKey.bytes,
      created: try #require(entry["revocation"]["created"].integer))
    let signature = try #require(
      entry["revocation"]["signature"].string.flatMap(Base64.standard.decode))
    #expect(
      entry["revocation"]["author"].string
        == Base64.standard.encode(alice.key.publicKey.bytes))
    #expect(alice.key.publicKey.isValid(signature: signature, for: statement.signedBytes))
  }
}

extension TestServer {
  /// Gives an account as many revoked keys as it may ever have.
  func fillKeys(of account: Identifier) throws {
    try database.write(for: nil) { transaction in
      for _ in 0..<1000 {
        try transaction.execute(
          """
          INSERT INTO sync.device_keys
            (public_key, account_id, label, added_ms, revoked_ms, last_session_ms)
          VALUES ($1, $2, 'lost', 1, 2, 1)
          """, .blob(Random.bytes(32)), .id(account))
      }
    }
  }
}

extension TestServer {
  fileprivate func addByOperator(
    _ key: Ed25519PrivateKey, to account: Identifier, label: String = ""
  ) throws {
    let now = clock.now
    try database.write(for: nil) { transaction in
      try Device.add(
        transaction, key.publicKey.bytes, to: account, label: label, statement: nil,
        isByOperator: true, now: now)
    }
  }
}
