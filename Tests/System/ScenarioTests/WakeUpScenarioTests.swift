import Base
import Configuration
import Crypto
import Glibc
import HTTPMessages
import HTTPServer
import JSON
import LocalServer
import PushGateway
import Storage
import TestDevices
import TestEngines
import Testing

/// Wake-ups of the real programs: two instances of coffer-sync, the operator's commands, and a push gateway.
@Suite struct WakeUpScenarioTests {
  private static func serve(_ gateway: PushGateway) throws -> HTTPServer {
    let route = Route("POST", "/push") { head, _ in
      .ready(
        Admission(body: .memory(byteCountMax: 4096)) { body in
          let status = gateway.receive({ head.headers.text($0) }, body)
          return .ready(Response(status: status, headers: [], body: .bytes([])))
        })
    }
    return try startServer([route], name: "push")
  }

  private static func waitUntilNoneWaits(_ installation: Installation) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    for _ in 0..<1000 {
      let waiting = try database.read { reader in
        try reader.first("SELECT 1 FROM sync.push_ids WHERE due_ms IS NOT NULL") { _ in true }
      }
      if waiting == nil { return }
      usleep(10_000)
    }
    throw ScenarioError("a wake-up waits for ten seconds")
  }

  @Test(arguments: TestEngine.available)
  func `a phone is woken by whichever instance or program changes its account, until it is gone`(
    engine: TestEngine
  ) throws {
    let gateway = PushGateway { Clock.system.now() }
    let listening = try Self.serve(gateway)
    let installation = try Installation(
      engine,
      settings: [
        "COFFER_PUSH_URL": "http://127.0.0.1:\(listening.port)/push",
        "COFFER_PUSH_SECRETS": gateway.secretText, "COFFER_PUSH_PAUSE_SECONDS": "1",
      ])
    let servers = [try installation.start(.sync), try installation.start(.sync)]
    let laptop = try installation.device(of: servers[0])
    let phone = installation.device(of: servers[1], key: Ed25519PrivateKey(), root: laptop.root)
    #expect(try laptop.admit(phone).status == 201)
    let body = JSONValue.object([.init("id", "phone")]).encoded()
    #expect(try phone.send(phone.sign("PUT", "/v1/push", body: body)).status == 204)

    func write(_ device: TestDevice) throws {
      let answer = try device.batch(files: [device.creation("folder")])
      try #require(answer.status == 200)
    }
    try write(laptop)
    #expect(gateway.waits(for: 1).count == 1)
    // Else the one that is killed could hold the wake-up for a minute.
    try Self.waitUntilNoneWaits(installation)

    // What is written at an instance that dies is told by the other.
    servers[0].kill()
    let there = installation.device(of: servers[1], key: laptop.key, root: laptop.root)
    try write(there)
    #expect(gateway.waits(for: 2).count == 2)

    let granted = try installation.command(
      "entitlement", "grant", try there.account.description, "--plan", "premium", "--until",
      "2099-01-01T00:00:00Z", "--reason", "a friend", "--yes")
    #expect(granted.end == .exited(0), "\(granted.output)")
    #expect(gateway.waits(for: 3).count == 3)

    gateway.answer("phone", with: [410])
    try write(there)
    #expect(gateway.waits(for: 4).last?.status == 410)
    #expect(gateway.refusals == [])
    #expect(Set(gateway.wakeUps.map(\.pushID)) == ["phone"])
    #expect(servers[1].stop() == .exited(0))
    listening.drain(within: .seconds(1))
  }
}
