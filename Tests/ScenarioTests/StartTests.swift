import Base
import Configuration
import TestDevices
import TestEngines
import Testing

/// How the programs begin and end.
@Suite struct StartTests {
  @Test(arguments: TestEngine.available)
  func `both programs start at once on an empty database`(engine: TestEngine) throws {
    let installation = try Installation(engine)
    let servers = [try installation.launch(.sync), try installation.launch(.billing)]
    for server in servers { try server.waitUntilReady() }
    _ = try installation.device(of: servers[0])
    for server in servers { #expect(server.stop() == .exited(0), "\(server.lastWords)") }
  }
}
