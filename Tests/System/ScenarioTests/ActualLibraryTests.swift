import Base
import Configuration
import JSON
import LocalServer
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Actual's clients, which are the library actualpy, against the real program.
///
/// What each story does and demands stands in `ops/interop/actual_clients.py`.
@Suite(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
struct ActualLibraryTests {
  @Test(arguments: TestEngine.available, [nil, "correct horse"] as [String?])
  func `devices share a budget from the first log-in to its deletion, apart and together`(
    engine: TestEngine, encryption: String?
  ) throws {
    let scene = try ActualScene(engine, encryption)
    try scene.run("life")
    try scene.end()
  }

  @Test(arguments: TestEngine.available, [nil, "correct horse"] as [String?])
  func `an operator takes back a reset, and the device that missed it goes on`(
    engine: TestEngine, encryption: String?
  ) throws {
    let scene = try ActualScene(engine, encryption)
    try scene.run("reset")
    let listed = try scene.command("log", "list", scene.account, "--json")
    let log = try JSON.parse(Array(listed.utf8))["logs"][0]["log"].requireString()
    _ = try scene.command("log", "restore", scene.account, log, "--reason", "ticket 4", "--yes")
    try scene.run("restored")
    try scene.end()
  }

  @Test(arguments: TestEngine.available)
  func `a device at the cap is refused until a webhook reports a purchase`(engine: TestEngine)
    throws
  {
    let scene = try ActualScene(engine)
    let billing = try scene.installation.start(.billing)
    try scene.run("fill")
    try MovingTests.deliverMonth(of: scene.account, to: billing)
    try scene.run("lifted")
    #expect(billing.stop() == .exited(0))
    try scene.end()
  }

  @Test(arguments: TestEngine.available)
  func `the trie over random batches is that of an independent one`(engine: TestEngine) throws {
    let scene = try ActualScene(engine)
    try scene.run("tries")
    try scene.end()
  }

  @Test(arguments: [nil, "correct horse"] as [String?])
  func `create_budget begins a budget with the tables that the operator has named`(
    encryption: String?
  ) throws {
    let scene = try ActualScene(.sqlite, encryption, servesFiles: true)
    try scene.run("begin")
    try scene.end()
  }
}

/// The program, an account, and a password for its apps.
private struct ActualScene {
  let installation: Installation
  let account: String
  private let sync: Server
  private let encryption: String?
  private let password: String

  /// The story `files` makes the directory that a server with files needs at its start.
  init(_ engine: TestEngine, _ encryption: String? = nil, servesFiles: Bool = false) throws {
    let port = Ports.free()
    installation = try Installation(
      engine,
      settings: [
        "COFFER_PLANS": Files.repository + "/webhooks/catalogue.json",
        "COFFER_ACTUAL_AUTHORITIES": "127.0.0.1:\(port)",
      ])
    if servesFiles {
      try Self.run("files", "", "", installation)
      installation.set(["COFFER_ACTUAL_FILES": installation.directory + "/clients/build"])
    }
    sync = try installation.start(.sync, port: port)
    account = try installation.device(of: sync).account.description
    self.encryption = encryption
    let made = try installation.command("app-password", "create", account, "--json")
    password = try JSON.parse(Array(made.output.utf8))["password"].requireString()
  }

  func command(_ words: String...) throws -> String {
    let run = try installation.command(words)
    guard run.end == .exited(0) else { throw ScenarioError(run.output) }
    return run.output
  }

  /// Runs one part of a story to its end.
  func run(_ story: String) throws {
    try Self.run(story, sync.url, password, installation, encryption)
  }

  private static func run(
    _ story: String, _ url: String, _ password: String, _ installation: Installation,
    _ encryption: String? = nil
  ) throws {
    let log = "\(installation.directory)/\(story).log"
    let clients = try ChildProcess(
      try #require(Shell.python),
      [
        "\(Files.repository)/ops/interop/actual_clients.py", story, url, password,
        installation.directory + "/clients",
      ] + (encryption.map { ["--encryption", $0] } ?? []), environment: Launch.environment(),
      output: log, errors: log)
    let end = clients.wait(within: .seconds(240))
    #expect(end == .exited(0), "\(story): \(Files.text(log)?.suffix(1500) ?? "")")
  }

  /// What the account's rows add up to is what is charged, and the program ends.
  func end() throws {
    let check = try installation.command("usage", "recount", account, "--dry-run", "--json")
    #expect(check.output.contains("\"wrong\":0,"), "\(check.output)")
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
  }
}
