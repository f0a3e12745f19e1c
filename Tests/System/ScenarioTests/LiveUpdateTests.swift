import Base
import Configuration
import Crypto
import Glibc
import RawClient
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Live updates of the real programs: two instances of coffer-sync, coffer-billing and the operator's commands.
@Suite struct LiveUpdateTests {
  private static let target = "/v1/updates/stream"

  private static func ask(
    _ device: TestDevice, _ server: Server, headers: [(String, String)] = []
  ) throws -> RawStream {
    let request = device.sign("GET", target, headers: headers)
    return try #require(
      RawStream(connectingTo: server.port, request.method, request.target, request.headers))
  }

  private static func connect(_ device: TestDevice, _ server: Server) throws -> RawStream {
    let stream = try ask(device, server)
    try #require(stream.isOpened, "\(stream.head)")
    try #require(stream.next() == "{\"all\":true}")
    return stream
  }

  private static func write(_ device: TestDevice) throws {
    let answer = try device.batch(files: [device.creation("folder")])
    try #require(answer.status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a change at one instance is told at the other, which goes on when the first is killed`(
    engine: TestEngine
  ) throws {
    let installation = try Installation(engine)
    let servers = [try installation.start(.sync), try installation.start(.sync)]
    let here = try installation.device(of: servers[0])
    let there = installation.device(of: servers[1], key: here.key, root: here.root)
    let streams = [try Self.connect(here, servers[0]), try Self.connect(there, servers[1])]
    for device in [here, there] {
      try Self.write(device)
      for stream in streams { #expect(stream.next() == "{\"tree\":true}") }
    }
    servers[0].kill()
    #expect(streams[0].ends)
    try Self.write(there)
    #expect(streams[1].next() == "{\"tree\":true}")
    let again = try installation.start(.sync)
    let back = installation.device(of: again, key: here.key, root: here.root)
    let stream = try Self.connect(back, again)
    try Self.write(there)
    #expect(stream.next() == "{\"tree\":true}")
    #expect(streams[1].next() == "{\"tree\":true}")
    for server in [servers[1], again] { #expect(server.stop() == .exited(0)) }
  }

  @Test(arguments: TestEngine.available)
  func `a client that pulls only when told has everything, though who wrote it was killed`(
    engine: TestEngine
  ) throws {
    let installation = try Installation(engine)
    let server = try installation.start(.sync)
    let device = try installation.device(of: server)
    let stream = try Self.connect(device, server)
    var replica = Replica(device)
    try replica.pull()
    for _ in 0..<(TestRun.isFull ? 10 : 2) {
      let doomed = try installation.start(.sync)
      let writer = installation.device(of: doomed, key: device.key, root: device.root)
      let threads = (0..<4).map { _ in
        Thread { while (try? writer.batch(files: [writer.creation("folder")])) != nil {} }
      }
      for _ in 0..<10 {
        #expect(stream.hears("tree"))
        try replica.pull()
      }
      doomed.kill()
      for thread in threads { thread.join() }
      var fresh = Replica(device)
      try fresh.pull(limit: 1000)
      while replica.records.count < fresh.records.count {
        // If the kill came between a commit and its news, the next look tells, half a minute later.
        try #require((0..<4).contains { _ in stream.hears("tree") })
        try replica.pull()
      }
    }
    #expect(server.stop() == .exited(0), "\(server.lastWords)")
  }

  @Test(.enabled(if: TestEngine.available.contains(.postgres), "there is no PostgreSQL"))
  func `streams outlive a restart of PostgreSQL, and what comes after it is told`() throws {
    let cluster = try OwnCluster()
    let installation = try Installation(
      with: .nothing, settings: ["COFFER_DATABASE": cluster.url])
    let servers = [try installation.start(.sync), try installation.start(.sync)]
    let here = try installation.device(of: servers[0])
    let there = installation.device(of: servers[1], key: here.key, root: here.root)
    let streams = [try Self.connect(here, servers[0]), try Self.connect(there, servers[1])]
    try cluster.restart()
    for server in servers { try server.waitUntilReady() }
    // Other connections of the program may still be those that have ended.
    let end = MonotonicTime.now() + .seconds(30)
    while try here.batch(files: [here.creation("folder")]).status != 200 {
      try #require(MonotonicTime.now() < end)
    }
    // By news if the instance listens again, otherwise by its first look.
    for stream in streams { #expect(stream.hears("tree")) }
    for server in servers { #expect(server.stop() == .exited(0), "\(server.lastWords)") }
  }

  @Test(arguments: TestEngine.available)
  func `a stop ends streams at once, with a pause for their clients`(engine: TestEngine) throws {
    let installation = try Installation(engine)
    let server = try installation.start(.sync)
    let device = try installation.device(of: server)
    let streams = try (0..<5).map { _ in try Self.connect(device, server) }
    #expect(server.stop() == .exited(0))
    for stream in streams {
      // On a slow machine signs of life come before.
      #expect(stream.rest.last?.hasPrefix("retry: ") == true)
    }
  }

  @Test func `an account and an address have no more streams than the operator lets them have`()
    throws
  {
    let installation = try Installation(
      settings: [
        "COFFER_STREAMS_PER_ACCOUNT": "2", "COFFER_STREAMS_PER_ADDRESS": "3",
        "COFFER_TRUSTED_PROXIES": "127.0.0.1",
      ])
    let server = try installation.start(.sync)
    let (ada, bob) = (try installation.device(of: server), try installation.device(of: server))
    let streams = try [ada, ada, ada, bob, bob].map { device in
      try Self.ask(device, server, headers: [("X-Forwarded-For", "192.0.2.1")])
    }
    #expect(streams.map(\.isOpened) == [true, true, false, true, false])
    #expect(server.stop() == .exited(0))
  }

  @Test func `clients that come and go all the time leave no file open`() throws {
    let installation = try Installation(settings: ["COFFER_STREAMS_PER_ACCOUNT": "1000"])
    let server = try installation.start(.sync)
    let device = try installation.device(of: server)
    let files = "/proc/\(server.process.id)/fd"
    let count = Files.names(in: files).count
    for number in 0..<(TestRun.isFull ? 10_000 : 1000) {
      switch number % 3 {
      case 0: _ = try Self.connect(device, server)
      case 1: try Self.connect(device, server).reset()
      default:
        // Gone before it is answered.
        let request = device.sign("GET", Self.target)
        let client = try #require(RawClient(connectingTo: server.port))
        client.send(request.method, request.target, request.headers)
      }
    }
    let end = MonotonicTime.now() + .seconds(30)
    // A few for what the server opens for itself. If one kind of clients left some, there would be hundreds.
    while Files.names(in: files).count > count + 30, MonotonicTime.now() < end { usleep(10_000) }
    #expect(Files.names(in: files).count <= count + 30)
    _ = try Self.connect(device, server)
    #expect(server.stop() == .exited(0), "\(server.lastWords)")
  }

  @Test(arguments: TestEngine.available)
  func `a cap that a webhook or a command lifts is told, and a suspension ends the stream`(
    engine: TestEngine
  ) throws {
    let installation = try Installation(
      engine, settings: ["COFFER_PLANS": Files.repository + "/webhooks/catalogue.json"])
    let billing = try installation.start(.billing)
    let server = try installation.start(.sync)
    let device = try installation.device(of: server)
    let account = try device.account.description
    let stream = try Self.connect(device, server)
    // The news that the account was made may come after its stream began.
    func next(of stream: RawStream) -> String? {
      let event = stream.next()
      return event == "{\"tree\":true}" ? stream.next() : event
    }
    let granted = try installation.command(
      "entitlement", "grant", account, "--plan", "premium", "--until", "2099-01-01T00:00:00Z",
      "--reason", "a friend", "--yes")
    #expect(granted.end == .exited(0), "\(granted.output)")
    #expect(next(of: stream) == "{\"cap\":true}")
    let other = try installation.device(of: server)
    let paying = try Self.connect(other, server)
    try MovingTests.deliverMonth(of: other.account.description, to: billing)
    #expect(next(of: paying) == "{\"cap\":true}")
    let suspended = try installation.command(
      "account", "suspend", account, "--reason", "abuse", "--yes")
    #expect(suspended.end == .exited(0), "\(suspended.output)")
    #expect(stream.ends)
    let refused = try device.get(Self.target)
    #expect(refused.status == 403)
    for server in [billing, server] { #expect(server.stop() == .exited(0)) }
  }
}
