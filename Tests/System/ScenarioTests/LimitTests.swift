import Base
import Configuration
import Crypto
import HTTPClient
import JSON
import TestDevices
import TestEngines
import TestFiles
import Testing

/// An operator's limits for accounts, enforced by the real program.
@Suite struct LimitTests {
  @Test func `an account gets the requests that the settings allow, and then has to wait`() throws {
    let installation = try Installation(settings: [
      "COFFER_REQUESTS_BURST": "3", "COFFER_REQUESTS_PER_SECOND": "1",
    ])
    let device = try installation.device(of: installation.start(.sync))
    let answers = try (0..<20).map { _ in try device.get("/v1/updates") }
    let refused = try #require(answers.first { $0.status != 200 })
    #expect(try refused.problem == "rate_limited")
    #expect(refused.header("RateLimit-Policy") == "\"requests\";q=3;w=3")
  }

  @Test func `two instances give an account no more requests than one would`() throws {
    let installation = try Installation(settings: [
      "COFFER_REQUESTS_BURST": "40", "COFFER_REQUESTS_PER_SECOND": "1", "COFFER_INSTANCES": "2",
    ])
    let servers = try (0..<2).map { _ in try installation.start(.sync) }
    let device = try installation.device(of: servers[0])
    let devices = servers.map { installation.device(of: $0, key: device.key, root: device.root) }
    let begun = MonotonicTime.now()
    let answers = try (0..<80).map { try devices[$0 % 2].get("/v1/account") }
    let passed = answers.count { $0.status == 200 }
    // The requests that each instance has regained meanwhile.
    let returned = 2 * Int(MonotonicTime.now().seconds(since: begun) + 1)
    #expect(passed <= 40 + returned)
    #expect(answers.first?.header("RateLimit-Policy") == "\"requests\";q=20;w=20")
  }

  @Test(arguments: [Program.sync, .billing])
  func `a server has all the descriptors that it may have, however few it is started with`(
    program: Program
  ) throws {
    let installation = try Installation()
    let server = try installation.launch(program, softDescriptorLimit: 64)
    try server.waitUntilReady()
    let limits = try #require(Files.text("/proc/\(server.process.id)/limits"))
    let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
    let words = line.split(separator: " ")
    try #require(words.count == 6)
    #expect(words[3] == words[4], "\(line)")
    #expect(words[3] != "64")
    #expect(server.stop() == .exited(0), "\(server.lastWords)")
  }

  @Test func `a large content goes from its file to the socket within the kernel`() throws {
    let installation = try Installation()
    let server = try installation.start(.sync)
    let device = try installation.device(of: server)
    let content = Random.bytes(900_000)
    let id = try device.create().id
    #expect(try device.put(id, content, ifMatch: "*").status == 200)
    let before = try Self.readCount(server.process.id)
    for _ in 0..<5 { #expect(try device.get("/v1/files/\(id)/content").body == content) }
    // Read by 4096 bytes at a time, they would take 1100 calls.
    #expect(try Self.readCount(server.process.id) - before < 400)
  }

  /// The calls by which a process has read from files and pipes, but not from sockets.
  private static func readCount(_ process: Int32) throws -> Int {
    let counts = try #require(Files.text("/proc/\(process)/io"))
    let line = try #require(counts.split(separator: "\n").first { $0.hasPrefix("syscr: ") })
    return try #require(Int(line.dropFirst("syscr: ".count)))
  }

  @Test func `no cache may keep what coffer-billing answers`() throws {
    let installation = try Installation(settings: [
      "COFFER_BILLING_AUTHORITIES": "billing.coffer.test"
    ])
    let billing = try installation.start(.billing)
    let client = HTTPClient()
    for target in ["/v1/claims", "/webhooks/stripe", "/webhooks/apple"] {
      let answer = try client.send(
        "POST", billing.url + target, body: Array("{}".utf8), timeout: .seconds(10))
      let told = Answer(status: answer.status, headers: answer.headers, body: answer.body)
      #expect(told.status >= 400)
      #expect(told.header("Cache-Control") == "private, no-store", "\(target)")
    }
    #expect(billing.stop() == .exited(0))
  }

  @Test func `an account owns as many files as the settings allow`() throws {
    let installation = try Installation(settings: ["COFFER_RECORDS_MAX": "3"])
    let device = try installation.device(of: installation.start(.sync))
    let answers = try (0..<3).map { _ in try device.create().answer }
    #expect(answers.map(\.status) == [200, 200, 409])
    #expect(try answers.last?.problem == "too_many_records")
  }

  @Test(arguments: TestEngine.available)
  func `a program that is told to stop keeps what it has counted`(engine: TestEngine) throws {
    let installation = try Installation(engine)
    let sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    let (id, _) = try device.create()
    #expect(try device.put(id, Random.bytes(700), ifMatch: "*").status == 200)
    #expect(try device.get("/v1/files/\(id)/content").status == 200)
    #expect(sync.stop() == .exited(0))
    _ = try installation.start(.sync, port: sync.port)
    let months = try device.get("/v1/account").json["transfer"].requireArray()
    #expect(try months.map { try $0["sent"].requireInteger() }.reduce(0, +) == 700)
    #expect(try months.map { try $0["received"].requireInteger() }.reduce(0, +) == 700)
  }
}
