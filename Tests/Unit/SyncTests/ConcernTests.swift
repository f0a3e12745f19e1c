import Accounts
import Base
import Configuration
import Crypto
import JSON
import Logs
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The accounts that a write concerns are determined before the locks are held. On PostgreSQL they may change
/// in between.
@Suite(.enabled(if: TestEngine.postgresURL != nil, "COFFER_TEST_POSTGRES is not set"))
struct ConcernTests {
  /// Runs `change` while another instance invites Bob to Alice's file. That instance holds her row until the
  /// change waits for it.
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
      try server.wait(forLocks: 1)
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
    // Rows are locked in ascending order, and Alice's is the one that is delayed.
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
      try server.wait(forLocks: 1)
      let blocked = try receiver.send(receiver.sign("PUT", "/v1/blocks/\(owner)"))
      guard blocked.status == 204 else { throw UnexpectedAnswer(blocked) }
    }
    thread.join()
    let granted = try #require(answer.withLock { $0 }).get()
    #expect(try granted.rules == ["invitation_not_taken"])
  }

  @Test func `an upload whose answer was lost keeps its object if its commit ends only now`() throws
  {
    let server = try TestServer(.postgres)
    let device = try server.register()
    let log = try device.createLog()
    let (account, object) = (try device.account, Random.identifier())
    try server.database.write(for: nil) { [key = device.publicKey] transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.reservations (object_id, owner_id, actor_key, bytes, expires_ms)
        VALUES ($1, $2, $3, 1, $4)
        """, .id(object), .id(account), .blob(key), .integer(Int64.max))
    }
    let other = try server.anotherInstance()
    defer { other.close() }
    let isHeld = Locked(false)
    let outcome = Locked<Result<Void, any Error>?>(nil)
    let thread = Thread {
      _ = isHeld.wait { $0 ? true : nil }
      let result = Result {
        try server.database.write(for: nil) { transaction in
          try LogSnapshot.abandon(transaction, object, byteCount: 1, of: log.id)
        }
      }
      outcome.signal { $0 = result }
    }
    // What the commit writes, which is not done yet.
    try other.write(for: nil) { transaction in
      try transaction.execute("DELETE FROM sync.reservations WHERE object_id = $1", .id(object))
      try transaction.execute(
        """
        INSERT INTO sync.log_snapshots
          (object_id, owner_id, seq, epoch_id, covered_count, content_bytes, written_ms)
        VALUES ($1, $2, 1, $3, 0, 1, 0)
        """, .id(object), .id(account), .id(log.epoch))
      isHeld.signal { $0 = true }
      try server.wait(forLocks: 1)
    }
    thread.join()
    try #require(outcome.withLock { $0 }).get()
    #expect(try server.count("garbage") == 0)
  }

  @Test func `an epoch that two instances let go at once counts once among what is kept`() throws {
    let server = try TestServer(.postgres)
    let device = try server.register()
    let account = try device.account
    let log = try device.createLog()
    try device.append([SentMessage(server.stamp())], to: log).requireSuccess()
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    #expect(try device.beginEpoch(of: log, covering: cursor).status == 201)
    server.clock.advance(server.limits.deletionHorizon)
    let twin = try TestServer(.postgres, beside: server)
    let other = try server.anotherInstance()
    defer { other.close() }
    let isHeld = Locked(false)
    let threads = [server, twin].map { instance in
      Thread {
        _ = isHeld.wait { $0 ? true : nil }
        // Whichever comes second may fail. The sweep below does what is left.
        for work in instance.api.upkeep where work.name == "logs" { _ = try? work.slice() }
      }
    }
    try other.write(for: nil) { transaction in
      try transaction.execute("UPDATE sync.log_epochs SET kept = kept")
      isHeld.signal { $0 = true }
      try server.wait(forLocks: 2)
    }
    for thread in threads { thread.join() }
    try server.sweepDeletions()
    #expect(try server.count("log_epochs") == 1)
    let kept = try server.database.read { reader in
      try reader.first("SELECT kept_bytes FROM sync.accounts WHERE id = $1", .id(account)) { row in
        try row.integer(0)
      }
    }
    #expect(kept == 0)
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
        // On a busy machine the wait for a lock may time out; clients then send the request again.
        var status = 503
        for _ in 0..<20 where status == 503 { status = (try? device.send(request).status) ?? 0 }
        answers.signal { [status] in $0.append(status) }
      }
    }
    try other.write(for: nil) { transaction in
      try transaction.execute("UPDATE sync.invites SET note = note WHERE id = $1", .id(made.id))
      isHeld.signal { $0 = true }
      try server.wait(forLocks: 2)
    }
    for thread in threads { thread.join() }
    #expect(answers.withLock { $0 } == [201, 201])
    let invite = try server.database.read { try Invite.find($0, made.id) }
    #expect(invite?.useCount == 1)
  }

  @Test func `an account whose deletion is cancelled as its erasure begins keeps its keys`()
    throws
  {
    let server = try TestServer(.postgres)
    let device = try server.register()
    let account = try device.account
    #expect(try device.send(device.sign("DELETE", "/v1/account")).status == 202)
    server.clock.advance(server.limits.deletionDelay)
    // Recorded outcomes have gone by then. Otherwise they would be the first slice, before the keys.
    try server.sweeper().sweep()
    _ = try server.meet(during: { try server.sweeper().sweepErasure() }) { transaction in
      _ = try AccountDeletion.cancel(account, in: transaction)
    }
    #expect(try device.get("/v1/account").status == 200)
  }

  @Test func `what is renewed while a sweep finds that it has expired stays`() throws {
    let server = try TestServer(.postgres)
    let account = try server.register().account
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.former_contents (owner_id, place, file_id, version, bytes, expires_ms)
        VALUES ($1, 0, $1, 1, $1, 0)
        """, .id(account))
    }
    try server.meet(during: { try server.sweeper().sweep() }) { transaction in
      try transaction.execute(
        "UPDATE sync.former_contents SET expires_ms = $1", .integer(Int64.max))
    }
    #expect(try server.count("former_contents") == 1)
  }

  @Test func `a block that removes a device brings no place back that an erasure took meanwhile`()
    throws
  {
    let server = try TestServer(.postgres)
    let (ada, bob) = try server.contacts()
    let phone = server.device()
    #expect(try bob.admit(phone).status == 201)
    let head = try ada.chain(with: [bob, phone])
    let account = try bob.account
    let removed = try server.meet(
      during: { try ada.send(ada.block(after: head, removing: [phone])) },
      holding: { try $0.execute("UPDATE sync.chains SET bytes = bytes") },
      then: { transaction in
        try transaction.execute(
          "DELETE FROM sync.chain_accounts WHERE account_id = $1", .id(account))
      })
    #expect(removed.status == 200)
    #expect(try server.count("chain_accounts") == 1)
  }

  // MARK: Judged again

  /// Locks the table of views. A new link is judged by it after its folder was read, and before the accounts'
  /// numbers are.
  private final class Barrier {
    private let instance: Database
    private let state = Locked(State.waits)
    private var thread: Thread?

    private enum State { case waits, holds, ends }

    /// Opens the instance early, so that beginning takes no time while others wait for locks.
    init(_ server: TestServer) throws { instance = try server.anotherInstance() }

    deinit { instance.close() }

    func begin() {
      thread = Thread { [instance, state] in
        try? instance.write(for: nil) { transaction in
          try transaction.execute("LOCK TABLE sync.views IN ACCESS EXCLUSIVE MODE")
          state.signal { if $0 == .waits { $0 = .holds } }
          _ = state.wait { $0 == .ends ? true : nil }
        }
        state.signal { $0 = .ends }
      }
    }

    func waitUntilHeld() throws {
      let found = state.wait { $0 == .waits ? nil : $0 }
      try #require(found == .holds)
    }

    func end() {
      state.signal { $0 = .ends }
      thread?.join()
      thread = nil
    }
  }

  @Test func `what happens while a batch is judged again is not overlooked`() throws {
    // Transactions that wait here wait for the test, which may run slowly on a busy machine.
    var options = DatabaseOptions()
    (options.lockWait, options.readTime) = (.seconds(60), .seconds(60))
    let server = try TestServer(.postgres, options: options)
    let (alice, bob) = (try server.register(), try server.register())
    let shared = try alice.add()
    try alice.grant(shared, to: bob.account).requireSuccess()
    let folder = try bob.add("folder")
    let link = try bob.creation("link", parent: folder, target: shared)
    let account = try bob.account
    let other = try server.anotherInstance()
    defer { other.close() }
    let answer = Locked<Answer?>(nil)
    let (first, second) = (try Barrier(server), try Barrier(server))
    defer { [first, second].forEach { $0.end() } }

    first.begin()
    try first.waitUntilHeld()
    let thread = Thread {
      let sent = try? bob.batch(files: [link])
      answer.withLock { $0 = sent }
    }
    try server.wait(forLocks: 1)
    // Makes the first judgement's snapshot outdated.
    try other.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.accounts SET seq = seq + 1 WHERE id = $1", .id(account))
    }
    second.begin()
    try server.wait(forLocks: 2)
    first.end()
    try second.waitUntilHeld()
    try server.wait(forLocks: 1)
    // The second judgement has also seen the folder live; now it is deleted.
    try other.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE sync.accounts SET seq = seq + 1 WHERE id = $1", .id(account))
      try transaction.execute(
        """
        UPDATE sync.files SET deleted = 1, deleted_ms = 0,
          seq = (SELECT seq FROM sync.accounts WHERE id = $2) WHERE id = $1
        """, .id(folder), .id(account))
    }
    second.end()
    thread.join()
    let refused = try #require(answer.withLock { $0 })
    #expect(try refused.rules == ["parent_deleted"], "\(refused.status)")
  }
}

extension TestServer {
  /// Returns when `count` transactions wait for others' locks.
  fileprivate func wait(forLocks count: Int64) throws {
    let deadline = MonotonicTime.now() + .seconds(30)
    while try waitingLockCount() != count { try #require(MonotonicTime.now() < deadline) }
  }

  /// The number of transactions that wait for another's lock.
  private func waitingLockCount() throws -> Int64 {
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

extension TestServer {
  /// Does the work while another instance writes: it begins once `hold` has run there, and `end` follows when the work
  /// waits for the lock. Returns what the work gives after that transaction's commit.
  fileprivate func meet<Value: Sendable>(
    during work: @escaping @Sendable () throws -> Value,
    holding hold: @escaping @Sendable (Transaction) throws -> Void,
    then end: @escaping @Sendable (Transaction) throws -> Void = { _ in }
  ) throws -> Value {
    let other = try anotherInstance()
    defer { other.close() }
    let isHeld = Locked(false)
    let outcome = Locked<Result<Value, any Error>?>(nil)
    let thread = Thread {
      _ = isHeld.wait { $0 ? true : nil }
      let result = Result { try work() }
      outcome.signal { $0 = result }
    }
    try other.write(for: nil) { transaction in
      try hold(transaction)
      isHeld.signal { $0 = true }
      try self.wait(forLocks: 1)
      try end(transaction)
    }
    thread.join()
    return try #require(outcome.withLock { $0 }).get()
  }
}
