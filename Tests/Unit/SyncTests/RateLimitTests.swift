import Accounts
import Base
import Crypto
import JSON
import Sync
import TestDevices
import TestEngines
import Testing

/// A token bucket limits an account's requests, whichever device sends them and whatever they ask for.
@Suite struct RateLimitTests {
  /// Monotonic time that stands still until the test moves it.
  private final class Uptime: Sendable {
    private let moment = Locked(MonotonicTime.now())
    func advance(_ span: Instant.Span) { moment.withLock { $0 = $0 + span } }
    func now() -> MonotonicTime { moment.withLock { $0 } }
  }

  private let uptime = Uptime()

  private func server(
    _ engine: TestEngine = .sqlite, burst: Int64, perSecond: Int64 = 1
  ) throws -> TestServer {
    var limits = SyncLimits()
    limits.requestsPerSecond = perSecond
    return try TestServer(engine, limits: limits, requestBurst: burst) { [uptime] in
      uptime.now()
    }
  }

  /// The requests left after an answer, according to its header.
  private func left(_ answer: Answer) throws -> Int {
    let field = try #require(answer.header("RateLimit"))
    let part = try #require(field.split(separator: ";").first { $0.hasPrefix("r=") })
    return try #require(Int(part.dropFirst(2)))
  }

  /// Another device of the same account, which has not sent a request yet.
  private func secondDevice(of device: TestDevice, _ server: TestServer) throws -> TestDevice {
    let second = server.device(root: device.root)
    let answer = try device.admit(second)
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return second
  }

  @Test func `the policy tells the burst and the time in which it comes back`() throws {
    let server = try server(burst: 10, perSecond: 4)
    let answer = try server.register().get("/v1/account")
    #expect(answer.header("RateLimit-Policy") == "\"requests\";q=10;w=3")
    #expect(answer.header("RateLimit") == "\"requests\";r=9;t=1")
  }

  @Test(arguments: TestEngine.available)
  func `reads, writes, uploads and refusals count as one request each and say what is left`(
    engine: TestEngine
  ) throws {
    let server = try server(engine, burst: 20)
    let device = try server.register()
    #expect(try left(device.get("/v1/account")) == 19)
    #expect(try left(device.get("/v1/files/\(Random.identifier())")) == 18)
    let account = try device.account
    let id = Random.identifier()
    let change = try device.creation(owner: account, id: id)
    #expect(try left(device.batch(files: [change])) == 16)
    #expect(try left(device.put(id, Random.bytes(100), ifMatch: "*")) == 15)
    #expect(try left(device.put(id, Random.bytes(20_000), ifMatch: "*")) == 14)
    #expect(try left(device.put(id, Random.bytes(20_000), ifMatch: "\"7000\"")) == 13)
    let unconditional = device.sign("PUT", "/v1/files/\(id)/content", body: [1])
    let refused = try device.send(unconditional)
    #expect(refused.status == 428)
    #expect(try left(refused) == 12)
    let long = try device.send(
      device.sign("POST", "/v1/devices", body: Random.bytes(20_000)))
    #expect(long.status == 413)
    #expect(try left(long) == 11)
  }

  @Test func `an account that has used up its burst waits for the next request`() throws {
    let server = try server(burst: 3)
    let device = try server.register()
    #expect(try (0..<4).map { _ in try device.get("/v1/updates").status } == [200, 200, 200, 429])
    let refused = try device.get("/v1/updates")
    #expect(try refused.problem == "rate_limited")
    #expect(refused.header("Retry-After") == "1")
    #expect(refused.header("RateLimit") == "\"requests\";r=0;t=1")
    #expect(refused.header("RateLimit-Policy") == "\"requests\";q=3;w=3")
    uptime.advance(.seconds(1))
    #expect(try (0..<2).map { _ in try device.get("/v1/updates").status } == [200, 429])
  }

  @Test func `a write beyond the limit has no effect and may be sent again as it was`() throws {
    let server = try server(burst: 2)
    let device = try server.register()
    let change = try device.creation()
    let body = device.batchBody(files: [change]).encoded()
    let request = device.sign("POST", "/v1/files", body: body)
    #expect(try device.get("/v1/account").status == 200)
    #expect(try device.send(request).status == 429)
    uptime.advance(.seconds(2))
    #expect(try device.get("/v1/files/\(change.file.id)").status == 404)
    #expect(try device.send(request).status == 200)
  }

  @Test func `all keys and sessions of an account have one bucket`() throws {
    let server = try server(burst: 20)
    let first = try server.register()
    let second = try secondDevice(of: first, server)
    #expect(try left(second.get("/v1/account")) == 17)
    let session = try second.send(second.sign("POST", "/v1/sessions"))
    let token = try #require(try session.json["token"].string)
    let bearer = TestDevice.Signed(
      method: "GET", target: "/v1/account",
      headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")], body: [])
    #expect(try left(second.send(bearer)) == 15)
    #expect(try left(second.send(bearer)) == 14)
    #expect(try left(first.get("/v1/account")) == 13)
  }

  @Test func `one account's requests leave another's alone`() throws {
    let server = try server(burst: 5)
    let one = try server.register()
    let other = try server.register()
    for _ in 0..<10 { _ = try one.get("/v1/account") }
    #expect(try left(other.get("/v1/account")) == 4)
  }

  @Test(arguments: TestEngine.available)
  func `a key asking for the first time finds its account's bucket empty`(
    engine: TestEngine
  ) throws {
    let server = try server(engine, burst: 4)
    let first = try server.register()
    let reader = try secondDevice(of: first, server)
    let writer = try secondDevice(of: first, server)
    #expect(try first.get("/v1/account").status == 200)
    let read = try reader.get("/v1/account")
    #expect(read.status == 429)
    #expect(try left(read) == 0)
    #expect(try writer.send(writer.sign("POST", "/v1/sessions")).status == 429)
  }

  @Test func `who proves no account is told nothing and charges nobody`() throws {
    let server = try server(burst: 5)
    let device = try server.register()
    #expect(try left(device.get("/v1/account")) == 4)
    var forged = device.sign("GET", "/v1/account")
    forged.target = "/v1/updates"
    let stranger = server.device()
    for _ in 0..<10 {
      let answers = [try device.send(forged), try stranger.get("/v1/account")]
      #expect(answers.map(\.status) == [401, 401])
      #expect(answers.allSatisfy { $0.header("RateLimit") == nil })
    }
    #expect(try left(device.get("/v1/account")) == 3)
  }

  @Test func `a revoked key charges its account at most once more`() throws {
    let server = try server(burst: 10)
    let device = try server.register()
    let lost = try secondDevice(of: device, server)
    #expect(try lost.get("/v1/account").status == 200)
    #expect(try device.revoke(key: lost.key.publicKey.bytes).status == 204)
    for _ in 0..<20 { #expect(try lost.get("/v1/account").status == 401) }
    #expect(try left(device.get("/v1/account")) >= 4)
  }

  @Test func `requests that come together get the burst and no more`() throws {
    let server = try server(burst: 25)
    let device = try server.register()
    _ = try device.get("/v1/account")
    let granted = Locked(0)
    let threads = (0..<4).map { _ in
      Thread {
        let client = server.device(key: device.key, root: device.root)
        for _ in 0..<10 where (try? client.get("/v1/account"))?.status == 200 {
          granted.withLock { $0 += 1 }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(granted.withLock { $0 } == 24)
  }
}
