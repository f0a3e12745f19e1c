import Base
import Crypto
import JSON
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Accounts that their owners delete: what is erased, when, and what others keep.
@Suite struct LeavingTests {
  private static let week = Instant.Span.days(7)

  private func ask(_ device: TestDevice) throws -> Answer { try device.end("/v1/account") }

  /// Advances the clock and erases slices until none is due.
  private func erase(_ server: TestServer, after span: Instant.Span = week) throws {
    server.clock.advance(span)
    try server.sweeper().sweepErasures()
  }

  @Test(arguments: TestEngine.available)
  func `it waits a week, in which it reads and writes nothing, and asking again is the same`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let document = try device.add()
    let first = try ask(device)
    #expect(first.status == 202)
    let json = try first.json
    #expect(json["state"].string == "waiting")
    #expect(json["erases"].string == (server.clock.now + Self.week).description)
    server.clock.advance(.days(1))
    #expect(try ask(device).json["erases"].string == json["erases"].string)
    #expect(try device.put(document, [1], ifMatch: "*").problem == "account_leaving")
    #expect(try device.pulled().records[document] != nil)
    try server.sweeper().sweepErasures()
    #expect(try device.pulled().records[document] != nil)
  }

  @Test func `what it means is told before: records, who loses what, and what is paid for`() throws
  {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    try alice.share(folder, with: bob, mode: "write")
    let told = try alice.get("/v1/account/deletion").json
    #expect(told["state"].string == "none")
    #expect(told["delay_days"].integer == 7)
    #expect(told["records"].integer == 2)
    #expect(told["shares"].integer == 1)
    #expect(try told["shared_with"][0]["account"].string == bob.account.description)
    #expect(told["subscriptions"].array?.isEmpty == true)
  }

  @Test(arguments: TestEngine.available)
  func `one that is to be exported first waits for that, however long`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (account, now) = (try device.account, server.clock.now)
    _ = try server.database.write(for: nil) { transaction in
      try AccountDeletion.ask(for: account, erasing: nil, by: .operator, at: now, in: transaction)
    }
    try erase(server, after: .days(400))
    #expect(try device.get("/v1/account/deletion").json["state"].string == "exporting")
    let moment = server.clock.now + Self.week
    let isExported = try server.database.write(for: nil) { transaction in
      [
        try AccountDeletion.exported(account, erasing: moment, in: transaction),
        try AccountDeletion.exported(account, erasing: .distantFuture, in: transaction),
      ]
    }
    #expect(isExported == [true, false])
    #expect(try device.get("/v1/account/deletion").json["erases"].string == moment.description)
    try erase(server)
    #expect(try device.get("/v1/account/deletion").status == 401)
  }

  @Test func `who sees its folders is told until it is gone or stays`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    try alice.share(folder, with: bob, mode: "read")
    _ = try bob.accept(folder)
    func told() throws -> [String] {
      try bob.get("/v1/updates").json["leaving"].requireArray().compactMap { $0["owner"].string }
    }
    #expect(try told() == [])
    _ = try ask(alice)
    #expect(try told() == [alice.account.description])
    #expect(
      try bob.get("/v1/updates").json["leaving"][0]["erases"].string
        == (server.clock.now + Self.week).description)
    _ = try alice.end("/v1/account/deletion")
    #expect(try told() == [])
    _ = try ask(alice)
    try erase(server)
    #expect(try told() == [])
  }

  @Test(arguments: TestEngine.available)
  func `who holds its versions of documents, or is in its chains, is told, and so is its owner`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    try ada.push(ada.version(Random.identifier(), 1, to: [try bob.account])).requireSuccess()
    let chain = try ada.chain(with: [bob]).chain
    let effects = try ada.get("/v1/account/deletion").json
    #expect(effects["versions"].integer == 1)
    #expect(effects["chains"].integer == 1)
    #expect(
      effects["shared_with"].array?.compactMap { $0["chain"].string } == [chain.description])
    func told(_ device: TestDevice) throws -> [String?] {
      try [device.pullPage(), device.get("/v1/chains")].map { answer in
        try answer.json["leaving"][0]["owner"].string
      }
    }
    #expect(try told(bob) == [nil, nil])
    #expect(try ask(ada).status == 202)
    let owner = try ada.account.description
    #expect(try told(bob) == [owner, owner])
    #expect(try told(ada) == [nil, nil])
    try erase(scene.server)
    #expect(try told(bob) == [nil, nil])
  }

  @Test func `it can be kept until it is erased, and then not`() throws {
    let server = try TestServer()
    let device = try server.register()
    let document = try device.add()
    _ = try ask(device)
    #expect(try device.end("/v1/account/deletion").status == 204)
    try device.put(document, [1], ifMatch: "*").requireSuccess()
    #expect(try device.get("/v1/account/deletion").json["state"].string == "none")
    try erase(server)
    #expect(try device.pulled().records[document] != nil)
    _ = try ask(device)
    try erase(server)
    #expect(try device.end("/v1/account/deletion").status == 401)
  }

  @Test func `who was suspended before is so after he stays`() throws {
    let server = try TestServer()
    let device = try server.register()
    let document = try device.add()
    try server.suspend(device.account, since: server.clock.now)
    _ = try ask(device)
    _ = try device.end("/v1/account/deletion")
    #expect(try device.put(document, [1], ifMatch: "*").problem == "account_suspended")
  }

  @Test func `the token of a session is not enough`() throws {
    let server = try TestServer()
    let device = try server.register()
    let token = try device.send(device.sign("POST", "/v1/sessions")).json["token"].string ?? ""
    let answer = try device.send(
      TestDevice.Signed(
        method: "DELETE", target: "/v1/account",
        headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")], body: []))
    #expect(answer.status == 403 || answer.status == 401)
    #expect(try device.get("/v1/account/deletion").json["state"].string == "none")
  }

  @Test(arguments: TestEngine.available)
  func `others lose what it shared, learn that it ended, and lose nothing else`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let document = try alice.add(in: folder)
    let own = try bob.add()
    try bob.put(own, [7], ifMatch: "*").requireSuccess()
    let bobs = try bob.add("folder")
    try bob.share(bobs, with: alice, mode: "write")
    try alice.share(folder, with: bob, mode: "write")
    var replica = try bob.pulled()
    #expect(replica.ids.contains(document))
    _ = try ask(alice)
    try erase(server)
    try replica.pull()
    #expect(!replica.ids.contains(folder) && !replica.ids.contains(document))
    #expect(replica.shares[folder]?.state == "revoked")
    #expect(replica.ids.contains(own) && replica.ids.contains(bobs))
    #expect(try bob.get("/v1/files/\(own)/content").holds([7]))
    #expect(try bob.get("/v1/files/\(document)").status == 404)
    _ = try bob.add(in: bobs)
  }

  @Test func `it leaves no invitation open, however many have invited it`() throws {
    let server = try TestServer()
    let device = try server.register()
    let account = try device.account
    try server.database.write(for: nil) { transaction in
      for number in Int64(1)...3000 {
        let owner = SQLValue.id(Random.identifier())
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 1, 0, 0)
          """, owner)
        try transaction.execute(
          """
          INSERT INTO sync.shares (file_id, account_id, owner_id, mode, state, share_key, author_key,
            signature, seq, changed_ms)
          VALUES ($1, $2, $1, 'read', 'pending', $1, $1, $1, $3, 0)
          """, owner, .id(account), .integer(number))
      }
    }
    _ = try ask(device)
    try erase(server)
    let open = try server.database.read { reader in
      try reader.first(
        "SELECT count(*) FROM sync.shares WHERE account_id = $1 AND state = 'pending'",
        .id(account)
      ) { try $0.integer(0) }
    }
    #expect(open == 0)
  }

  @Test(arguments: TestEngine.available)
  func `of a person who is gone no row is left but of an id, and that not for ever`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(username: "ada"), try server.register())
    let folder = try ada.add("folder")
    try ada.put(try ada.add(in: folder), [1, 2, 3], ifMatch: "*").requireSuccess()
    try ada.share(folder, with: bob, mode: "read")
    let account = try ada.account
    _ = try ask(ada)
    try erase(server)
    #expect(try server.tables(about: account) == ["account_deletions", "accounts", "shares"])
    #expect(try ada.get("/v1/account").status == 401)
    let again = try server.register(username: "ada")
    #expect(try again.account != account)
    server.clock.advance(.days(100))
    try server.sweeper().sweepErasures()
    #expect(try server.tables(about: account) == ["account_deletions"])
    _ = try bob.add()
  }

  @Test(arguments: TestEngine.available)
  func `an account that another one blocks after its end is forgotten all the same`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    let account = try ada.account
    _ = try ask(ada)
    try erase(server)
    #expect(try bob.send(bob.sign("PUT", "/v1/blocks/\(account)")).status == 204)
    try erase(server, after: .days(100))
    #expect(try server.tables(about: account) == ["account_deletions"])
  }

  @Test(arguments: TestEngine.available)
  func `an account that was erased is neither opened again nor imported, however long ago`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let account = try device.account
    let archived = try server.database.read { reader in
      try #require(try MovedAccount(reader, account))
    }
    _ = try ask(device)
    for span in [Self.week, .days(100)] {
      try erase(server, after: span)
      let answer = try device.post("/v1/accounts", ["root": .string(device.root.description)])
      #expect(try answer.problem == "account_exists", "\(span)")
      let obstacle = try server.database.read { reader in try archived.obstacle(reading: reader) }
      #expect(obstacle != nil, "\(span)")
    }
    #expect(try server.tables(about: account) == ["account_deletions"])
  }

  @Test func `no byte of a person who is gone is left in the files`() throws {
    let server = try TestServer(.sqlite)
    let (ada, bob) = (try server.register(username: "ada.marker"), try server.register())
    let folder = try ada.add("folder")
    let small = Array("small content marker".utf8)
    let large = Array("large content marker".utf8)
    try ada.put(try ada.add(in: folder), small, ifMatch: "*").requireSuccess()
    try ada.put(try ada.add(in: folder), large + Random.bytes(40_000), ifMatch: "*")
      .requireSuccess()
    try ada.share(folder, with: bob, mode: "read")
    #expect(try ada.register(push: "ada.push.marker").status == 204)
    let markers = [
      Array("ada.marker".utf8), Array("ada.push.marker".utf8), small, large,
      ada.key.publicKey.bytes,
    ]
    for marker in markers {
      #expect(try server.filesHold(marker), "\(String(decoding: marker, as: UTF8.self))")
    }
    _ = try ask(ada)
    try erase(server)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    // The last connection to close merges the log into the file and removes it.
    server.database.close()
    for marker in markers {
      #expect(try !server.filesHold(marker), "\(String(decoding: marker, as: UTF8.self))")
    }
  }

  @Test func `a process that dies after any slice goes on, and erases all`() throws {
    let server = try TestServer()
    let device = try server.register()
    let folder = try device.add("folder")
    for _ in 0..<300 { _ = try device.add(in: folder) }
    #expect(try device.register(push: "phone").status == 204)
    let account = try device.account
    _ = try ask(device)
    server.clock.advance(Self.week)
    var slices = 0
    while try server.tables(about: account).contains("files") {
      // Each sweeper knows nothing of the ones before.
      _ = try server.sweeper().sweepErasure()
      slices += 1
      try #require(slices < 20)
    }
    #expect(slices > 2)
    try server.sweeper().sweepErasures()
    #expect(try server.tables(about: account) == ["account_deletions", "accounts"])
  }
}

extension TestDevice {
  fileprivate func end(_ target: String) throws -> Answer { try send(sign("DELETE", target)) }
}

extension TestServer {
  /// The tables that contain something about an account.
  fileprivate func tables(about account: Identifier) throws -> [String] {
    let columns = [
      ("accounts", "id"), ("device_keys", "account_id"), ("sessions", "account_id"),
      ("files", "owner_id"), ("usage_entries", "owner_id"), ("reservations", "owner_id"),
      ("garbage", "owner_id"), ("shares", "owner_id"), ("shares", "account_id"),
      ("logs", "owner_id"), ("log_shares", "owner_id"), ("log_shares", "account_id"),
      ("chains", "owner_id"), ("chain_accounts", "account_id"), ("chain_accounts", "owner_id"),
      ("former_contents", "owner_id"),
      ("views", "account_id"), ("views", "owner_id"), ("departures", "account_id"),
      ("departures", "owner_id"), ("deletions", "owner_id"), ("transfers", "owner_id"),
      ("blocks", "account_id"), ("blocks", "blocked_id"), ("account_deletions", "account_id"),
      ("failing_items", "account_id"), ("push_ids", "account_id"),
      ("mailboxes", "account_id"), ("mailbox_messages", "sender_id"),
      ("mailbox_entries", "sender_id"), ("mailbox_senders", "sender_id"),
      ("key_packages", "account_id"), ("key_package_claims", "account_id"),
      ("key_package_claims", "owner_id"),
      ("mailbox_totals", "account_id"),
    ]
    return try database.read { reader in
      let found = try columns.filter { table, column in
        try reader.first(
          "SELECT 1 FROM sync.\(table) WHERE \(column) = $1 LIMIT 1", .id(account)
        ) { try $0.integer(0) } != nil
      }
      return Set(found.map { $0.0 }).sorted()
    }
  }

  /// Whether a file of the database or of the object store contains these bytes.
  fileprivate func filesHold(_ marker: [UInt8]) throws -> Bool {
    Files.paths(under: directory).contains { path in
      Files.bytes("\(directory)/\(path)").map { $0.holds(marker) } ?? false
    }
  }
}

extension [UInt8] {
  fileprivate func holds(_ marker: [UInt8]) -> Bool {
    let text = self[...]
    var rest = text
    while let start = rest.firstIndex(of: marker[0]) {
      if text[start...].starts(with: marker) { return true }
      rest = text[(start + 1)...]
    }
    return false
  }
}
