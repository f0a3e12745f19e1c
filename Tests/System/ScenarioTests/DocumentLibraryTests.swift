import Base
import Configuration
import LocalServer
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Devices that merge with pycrdt, a library of CRDTs, against the real program.
///
/// What each story does and demands stands in `ops/interop/document_clients.py`.
@Suite(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
struct DocumentLibraryTests {
  private static let catalogue = """
    {"version": "documents", "plans": [], "free": {"id": "free", "title": "Free",
      "bytes": 100000000, "limits": {"history_days": 30}}}
    """

  @Test(arguments: TestEngine.available)
  func `devices of several people agree, whatever each did alone`(engine: TestEngine) throws {
    let scratch = try ScratchDirectory()
    let plans = scratch.path + "/plans.json"
    try Files.write(Array(Self.catalogue.utf8), to: plans)
    let port = Ports.free()
    let installation = try Installation(
      engine,
      settings: [
        "COFFER_PLANS": plans,
        "COFFER_SYNC_AUTHORITIES": "\(Installation.authority), 127.0.0.1:\(port)",
      ])
    let sync = try installation.start(.sync, port: port)
    let log = scratch.path + "/stories.log"
    let clients = try ChildProcess(
      try #require(Shell.python),
      ["\(Files.repository)/ops/interop/document_clients.py", "all", sync.url],
      environment: Launch.environment(), output: log, errors: log)
    #expect(clients.wait(within: .seconds(240)) == .exited(0), "\(Files.text(log) ?? "")")
    let check = try installation.command("usage", "recount", "--all", "--dry-run", "--json")
    #expect(check.output.contains("\"wrong\":0,"), "\(check.output)")
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
  }
}
