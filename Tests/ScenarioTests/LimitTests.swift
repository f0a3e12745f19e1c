import Base
import Configuration
import Crypto
import JSON
import TestDevices
import TestEngines
import Testing

/// What an operator allows an account, kept by the real program.
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
