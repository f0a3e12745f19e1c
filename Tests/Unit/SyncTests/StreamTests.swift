import Accounts
import Base
import Chains
import Crypto
import HTTPServer
import JSON
import Logs
import RawClient
import Storage
import Streams
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// Live updates over real sockets: who is told what, and who is told no more.
@Suite struct StreamTests {
  /// Heartbeats are rare, so what is told comes from news, not from a look that chance brought.
  private static let silent: StreamLimits = {
    var limits = StreamLimits()
    limits.heartbeat = .hours(1)
    return limits
  }()

  private static func limits(_ change: (inout StreamLimits) -> Void) -> StreamLimits {
    var limits = silent
    change(&limits)
    return limits
  }

  @Test(arguments: TestEngine.available)
  func `all streams of an account are told what it writes at either instance`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let other = try TestServer(engine, beside: server, streams: Self.silent)
    let ada = try server.register()
    let there = other.device(key: ada.key, root: ada.root)
    let streams = [try RawStream.open(ada, server), try RawStream.open(there, other)]
    _ = try ada.add("folder")
    for stream in streams { #expect(stream.next() == "{\"tree\":true}") }
    _ = try there.add("folder")
    for stream in streams { #expect(stream.next() == "{\"tree\":true}") }
  }

  @Test(arguments: TestEngine.available)
  func `a log is told by its id, and nothing of the tree`(engine: TestEngine) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let ada = try server.register()
    let log = try ada.createLog()
    let stream = try RawStream.open(ada, server)
    #expect(try ada.append([SentMessage(server.stamp())], to: log).status == 200)
    #expect(stream.next() == "{\"logs\":[\"\(log.id)\"]}")
  }

  @Test(arguments: TestEngine.available)
  func `a budget that clients of Actual rename is told as a log, which has its name`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(
      engine, actualAuthorities: [ActualClient.host], streams: Self.silent)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let group = try client.create("budget")
    func log() throws -> JSON { try ada.get("/v1/logs").json["logs"][0] }
    let id = try #require(try log()["id"].string)
    let told = "{\"logs\":[\"\(id)\"]}"
    let stream = try RawStream.open(ada, server)
    try client.post("/sync/update-user-filename", ["fileId": "budget", "name": "House"])
      .requireSuccess()
    #expect(stream.next() == told)
    #expect(try log()["name"].base64 == Array("House".utf8))
    try client.upload("budget", [1], group: group, name: "Flat").requireSuccess()
    #expect(stream.next() == told)
    #expect(try log()["name"].base64 == Array("Flat".utf8))
  }

  @Test(arguments: TestEngine.available)
  func `a pushed version is told as documents, and nothing of the tree`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let ada = try server.register()
    let stream = try RawStream.open(ada, server)
    try ada.push(ada.version(Random.identifier(), 1)).requireSuccess()
    #expect(stream.next() == "{\"documents\":true}")
  }

  @Test(arguments: TestEngine.available)
  func `a block of a chain is told to the other accounts that have members in it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let (ada, bob) = try server.contacts()
    let head = try ada.chain(with: [bob])
    let stream = try RawStream.open(bob, server)
    try ada.append(ada.block(after: head))
    // The contact that was just made may still be told of too.
    #expect(stream.hears("\(head.chain)"))
  }

  @Test(arguments: TestEngine.available)
  func `an owner's changes are told to whoever sees the tree, from the share's acceptance on`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let (ada, bob) = (try server.register(), try server.register())
    let folder = try ada.add("folder")
    let stream = try RawStream.open(bob, server)
    #expect(try ada.grant(folder, to: bob.account).status == 200)
    #expect(stream.next() == "{\"tree\":true}")
    #expect(try bob.accept(folder).answer.status == 200)
    #expect(stream.next() == "{\"tree\":true}")
    // The look that finds the new view tells of it again.
    #expect(stream.next() == "{\"tree\":true}")
    _ = try ada.add(in: folder)
    #expect(stream.next() == "{\"tree\":true}")
  }

  @Test(arguments: TestEngine.available)
  func `a cap that coffer-billing sets is told, and so is a deletion and its end`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let ada = try server.register()
    let account = try ada.account
    let stream = try RawStream.open(ada, server)
    try server.asBilling(for: account) { transaction in
      try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
        VALUES ($1, 0, 5000000, $2, $3)
        """, .id(account), .text("premium"), .text("subscribed"))
      transaction.report(News(of: account, .account))
    }
    #expect(stream.next() == "{\"cap\":true}")
    #expect(try ada.send(ada.sign("DELETE", "/v1/account")).status == 202)
    #expect(stream.hears("deletion"))
    #expect(try ada.send(ada.sign("DELETE", "/v1/account/deletion")).status < 300)
    #expect(stream.hears("deletion"))
  }

  @Test(arguments: TestEngine.available)
  func `a change whose news were lost is told by the next look`(engine: TestEngine) throws {
    let server = try TestServer(
      engine, streams: Self.limits { $0.heartbeat = .milliseconds(200) })
    let ada = try server.register()
    let account = try ada.account
    let stream = try RawStream.open(ada, server)
    // A commit without a report, as of a program that was killed right after it.
    try server.database.write(for: account) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.accounts SET seq = seq + 1 WHERE id = $1", .id(account))
    }
    #expect(stream.next() == "{\"all\":true}")
  }

  @Test(arguments: TestEngine.available)
  func `a look at accounts that follow no one takes as many statements for eight as for one`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let accounts = try (0..<8).map { _ in try server.register().account }
    func statementCount(of accounts: [Identifier]) throws -> Int64 {
      try server.database.read { reader in
        let seen = try Look.see(
          accounts, of: [FileTrees.self, MessageLogs.self, SignatureChains.self], reader,
          now: server.clock.now)
        #expect(Set(seen.keys) == Set(accounts))
        return reader.work.statementCount
      }
    }
    #expect(try statementCount(of: accounts) == statementCount(of: [accounts[0]]))
  }

  @Test(arguments: TestEngine.available)
  func `a revoked key loses its stream, and the account's others go on`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let ada = try server.register()
    let phone = server.device(root: ada.root)
    #expect(try ada.admit(phone).status == 201)
    let (kept, lost) = (try RawStream.open(ada, server), try RawStream.open(phone, server))
    #expect(try ada.revoke(key: phone.key.publicKey.bytes).status == 204)
    #expect(lost.ends)
    _ = try ada.add("folder")
    #expect(kept.next() == "{\"tree\":true}")
  }

  @Test(arguments: TestEngine.available)
  func `a session's stream ends with the session`(engine: TestEngine) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let ada = try server.register()
    let session = try ada.send(ada.sign("POST", "/v1/sessions"))
    let token = try #require(try session.json["token"].string)
    let id = try #require(try session.json["id"].string)
    let request = TestDevice.Signed(
      method: "GET", target: RawStream.target,
      headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")], body: [])
    let stream = try RawStream.connect(server, request)
    #expect(stream.next() == "{\"all\":true}")
    #expect(try ada.send(ada.sign("DELETE", "/v1/sessions/\(id)")).status == 204)
    #expect(stream.ends)
  }

  @Test(arguments: TestEngine.available)
  func `a suspended account loses its streams and gets no other`(engine: TestEngine) throws {
    let server = try TestServer(engine, streams: Self.silent)
    let ada = try server.register()
    let stream = try RawStream.open(ada, server)
    try server.suspend(ada.account, since: server.clock.now)
    #expect(stream.ends)
    #expect(try ada.get(RawStream.target).problem == "account_suspended")
    try server.suspend(ada.account, since: nil)
    _ = try RawStream.open(ada, server)
  }

  @Test func `an erased account loses its streams`() throws {
    let server = try TestServer(streams: Self.silent)
    let ada = try server.register()
    let stream = try RawStream.open(ada, server)
    #expect(try ada.send(ada.sign("DELETE", "/v1/account")).status == 202)
    server.clock.advance(.days(8))
    _ = try server.sweeper().sweepErasure()
    #expect(stream.ends)
  }

  @Test func `one stream more than an account may have is refused until one ends`() throws {
    let server = try TestServer(streams: Self.limits { $0.countPerAccountMax = 2 })
    let (ada, bob) = (try server.register(), try server.register())
    let kept = try RawStream.open(ada, server)
    do {
      let second = try RawStream.open(ada, server)
      let refused = try ada.get(RawStream.target)
      #expect(refused.status == 429)
      #expect(try refused.problem == "too_many_streams")
      #expect(refused.header("Retry-After") == "60")
      _ = try RawStream.open(bob, server)
      withExtendedLifetime(second) {}
    }
    // The server notices the end a moment later.
    #expect(
      soon {
        (try? RawStream.connect(server, ada.sign("GET", RawStream.target)))?.isOpened == true
      })
    withExtendedLifetime(kept) {}
  }

  @Test func `one stream more than an address may have is refused, whichever account's it is`()
    throws
  {
    let server = try TestServer(
      trustedProxies: [try #require(AddressRange("127.0.0.1"))],
      streams: Self.limits { $0.countPerAddressMax = 1 })
    let (ada, bob) = (try server.register(), try server.register())
    func request(_ device: TestDevice, from address: String) -> TestDevice.Signed {
      device.sign("GET", RawStream.target, headers: [("X-Forwarded-For", address)])
    }
    let kept = try RawStream.connect(server, request(ada, from: "192.0.2.1"))
    #expect(kept.isOpened)
    let refused = try bob.send(request(bob, from: "192.0.2.1"))
    #expect(refused.status == 429)
    #expect(try refused.problem == "too_many_streams")
    #expect(try RawStream.connect(server, request(bob, from: "192.0.2.2")).isOpened)
    withExtendedLifetime(kept) {}
  }

  @Test func `an instance that is full says so`() throws {
    let server = try TestServer(streams: Self.limits { $0.countMax = 1 })
    let (ada, bob) = (try server.register(), try server.register())
    let kept = try RawStream.open(ada, server)
    let refused = try bob.get(RawStream.target)
    #expect(refused.status == 503)
    #expect(try refused.problem == "streams_full")
    withExtendedLifetime(kept) {}
  }

  @Test func `a stream is of the type that browsers know, for no cache and no buffer`() throws {
    let server = try TestServer(streams: Self.silent)
    let ada = try server.register()
    let stream = try RawStream.open(ada, server)
    let head = stream.head.lowercased()
    for field in [
      "content-type: text/event-stream", "cache-control: private, no-store",
      "x-accel-buffering: no", "connection: close",
    ] {
      #expect(head.contains("\r\n\(field)"), "\(head)")
    }
    #expect(!head.contains("content-length"))
    let answer = try ada.send(ada.sign("HEAD", RawStream.target))
    #expect(answer.status == 200)
    #expect(answer.header("Content-Type") == "text/event-stream")
  }

  @Test func `a stream begins with the client's pause, and has signs of life`() throws {
    let server = try TestServer(streams: Self.limits { $0.heartbeat = .milliseconds(50) })
    let ada = try server.register()
    let stream = try RawStream.connect(server, ada.sign("GET", RawStream.target))
    let pause = try #require(stream.nextBlock())
    #expect(pause.hasPrefix("retry: "))
    #expect((3000...8000).contains(try #require(Int(pause.dropFirst(7)))))
    var blocks: Set<String> = []
    while !blocks.contains(":") { blocks.insert(try #require(stream.nextBlock())) }
  }

  @Test func `a program that stops ends its streams, with a pause for their clients`() throws {
    let server = try TestServer(streams: Self.silent)
    let ada = try server.register()
    let stream = try RawStream.open(ada, server)
    server.stopStreams()
    let last = try #require(stream.nextBlock())
    #expect(last.hasPrefix("retry: "))
    #expect(stream.nextBlock() == nil)
  }

  @Test func `a stream ends when its time is over`() throws {
    let server = try TestServer(
      streams: Self.limits {
        $0.heartbeat = .milliseconds(50)
        $0.lifetime = .milliseconds(100)
      })
    let ada = try server.register()
    #expect(try RawStream.connect(server, ada.sign("GET", RawStream.target)).ends)
  }

  @Test func `a client that reads nothing loses its stream, and nobody waits for it`() throws {
    let server = try TestServer(
      streams: Self.limits {
        $0.stallSpan = .milliseconds(300)
        $0.countPerAccountMax = 2
      })
    let ada = try server.register()
    let request = ada.sign("GET", RawStream.target)
    let deaf = try #require(
      RawStream(
        connectingTo: server.port, request.method, request.target, request.headers,
        bufferByteCount: 1))
    try #require(deaf.isOpened)
    let kept = try RawStream.open(ada, server)
    // The third stream is opened once the deaf client has lost its own.
    var toldCount = 0
    while true {
      _ = try ada.add("folder")
      try #require(kept.next() == "{\"tree\":true}")
      toldCount += 1
      if try RawStream.connect(server, ada.sign("GET", RawStream.target)).isOpened { break }
      try #require(toldCount < 5000)
    }
    // What waited for it was bounded by the sockets' buffers, and became one event beyond.
    #expect(deaf.rest.count { $0.contains("data: ") } < toldCount)
  }

  @Test func `no stranger gets a stream`() throws {
    let server = try TestServer(streams: Self.silent)
    let stranger = server.device()
    #expect(try stranger.get(RawStream.target).problem == "unknown_key")
    let unsigned = TestDevice.Signed(
      method: "GET", target: RawStream.target, headers: [("Host", TestServer.authority)],
      body: [])
    #expect(try stranger.send(unsigned).problem == "not_authenticated")
  }

  /// Whether the condition holds within ten seconds.
  private func soon(_ condition: () -> Bool) -> Bool {
    let end = MonotonicTime.now() + .seconds(10)
    while MonotonicTime.now() < end {
      if condition() { return true }
    }
    return false
  }
}
