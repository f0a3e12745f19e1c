import Base
import Configuration
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Whom a write concerns is asked before the locks are held; on PostgreSQL it may be another then.
@Suite(.enabled(if: TestEngine.postgresURL != nil, "COFFER_TEST_POSTGRES is not set"))
struct ConcernTests {
  /// Runs `change` while Bob is being invited to Alice's file by another instance, which holds her
  /// row until the change waits for it.
  private func answer(
    _ server: TestServer, _ alice: TestDevice, _ file: Identifier, invited bob: Identifier,
    _ change: @escaping @Sendable () throws -> Answer
  ) throws -> Answer {
    let other = try server.anotherInstance()
    defer { other.close() }
    let owner = try alice.account
    let isHeld = Locked(false)
    let answer = Locked<Result<Answer, any Error>?>(nil)
    let thread = Thread {
      _ = isHeld.wait { $0 ? true : nil }
      let result = Result { try change() }
      answer.signal { $0 = result }
    }
    try other.write(for: nil) { transaction in
      for account in [owner, bob].sorted() {
        try transaction.execute(
          "UPDATE sync.accounts SET seq = seq + 1 WHERE id = $1", .id(account))
      }
      isHeld.signal { $0 = true }
      for _ in 0..<10_000 where try server.waitingLockCount() < 1 {}
      try transaction.execute(
        """
        INSERT INTO sync.shares (file_id, account_id, owner_id, mode, state, share_key, author_key,
          signature, seq, changed_ms)
        SELECT $1, id, $2, 'read', 'pending', $1, $1, $1, seq, 0 FROM sync.accounts WHERE id = $3
        """, .id(file), .id(owner), .id(bob))
    }
    thread.join()
    return try #require(answer.withLock { $0 }).get()
  }

  @Test func `a change of a file that another is invited to meanwhile is made, and told to both`()
    throws
  {
    let server = try TestServer(.postgres)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let before = try bob.updates().json["cursor"].string
    let change = try alice.record(file).change { $0.name = .init(hmac: Random.bytes(32)) }
    let renamed = try answer(server, alice, file, invited: bob.account) {
      try alice.batch(files: [change])
    }
    #expect(renamed.status == 200)
    let told = try bob.updates(since: before).json["changes"].array ?? []
    #expect(told.count == 1)
    #expect(told.first.map { $0["file"]["name"]["hmac"].base64 } == change.file.name.hmac)
  }

  @Test func `content that another is invited to meanwhile is written`() throws {
    let server = try TestServer(.postgres)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let written = try answer(server, alice, file, invited: bob.account) {
      try alice.put(file, [1], ifMatch: "*")
    }
    #expect(written.status == 200)
  }

  @Test func `an invitation that was judged before its receiver blocked the sender is refused`()
    throws
  {
    let server = try TestServer(.postgres)
    var (alice, bob) = (try server.register(), try server.register())
    // Rows are locked in ascending order, and Alice's is the one that is held up.
    if try bob.account < alice.account { swap(&alice, &bob) }
    let (sender, receiver) = (alice, bob)
    let file = try sender.add()
    let other = try server.anotherInstance()
    defer { other.close() }
    let owner = try sender.account
    let isHeld = Locked(false)
    let answer = Locked<Result<Answer, any Error>?>(nil)
    let thread = Thread {
      _ = isHeld.wait { $0 ? true : nil }
      let result = Result { try sender.grant(file, to: receiver.account) }
      answer.signal { $0 = result }
    }
    try other.write(for: nil) { transaction in
      try transaction.execute("UPDATE sync.accounts SET seq = seq WHERE id = $1", .id(owner))
      isHeld.signal { $0 = true }
      for _ in 0..<10_000 where try server.waitingLockCount() < 1 {}
      let blocked = try receiver.send(receiver.sign("PUT", "/v1/blocks/\(owner)"))
      guard blocked.status == 204 else { throw UnexpectedAnswer(blocked) }
    }
    thread.join()
    let granted = try #require(answer.withLock { $0 }).get()
    #expect(try granted.rules == ["invitation_not_taken"])
  }

  @Test(arguments: [1, 5])
  func `a request for an account that two instances get at once opens one, and is answered alike`(
    useCountMax: Int64
  ) throws {
    let server = try TestServer(.postgres, registration: .invite)
    let now = server.clock.now
    let made = try server.database.write(for: nil) { transaction in
      try Invite.create(
        transaction, useCountMax: useCountMax, expires: now + .days(1), note: "", now: now)
    }
    let device = server.device()
    let body: JSONValue = [
      "root": .string(device.root.description),
      "invite": .string(String(decoding: made.code.exposed, as: UTF8.self)),
    ]
    let request = device.sign("POST", "/v1/accounts", body: body.encoded())
    let twin = try TestServer(.postgres, beside: server, registration: .invite)
    defer { withExtendedLifetime(twin) {} }
    let other = try server.anotherInstance()
    defer { other.close() }
    let isHeld = Locked(false)
    let answers = Locked<[Int]>([])
    let threads = [device, twin.device()].map { device in
      Thread {
        _ = isHeld.wait { $0 ? true : nil }
        // On a busy machine a lock may be waited for in vain; clients send the request again.
        var status = 503
        for _ in 0..<20 where status == 503 { status = (try? device.send(request).status) ?? 0 }
        answers.signal { [status] in $0.append(status) }
      }
    }
    try other.write(for: nil) { transaction in
      try transaction.execute("UPDATE sync.invites SET note = note WHERE id = $1", .id(made.id))
      isHeld.signal { $0 = true }
      for _ in 0..<10_000 where try server.waitingLockCount() < 2 {}
    }
    for thread in threads { thread.join() }
    #expect(answers.withLock { $0 } == [201, 201])
    let invite = try server.database.read { try Invite.find($0, made.id) }
    #expect(invite?.useCount == 1)
  }
}

extension TestServer {
  /// Transactions that wait for another's lock.
  fileprivate func waitingLockCount() throws -> Int64 {
    try database.read { reader in
      try reader.first(
        """
        SELECT CAST(count(*) AS BIGINT) FROM pg_catalog.pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = pg_catalog.current_database()
        """
      ) { try $0.integer(0) } ?? 0
    }
  }
}
