import Base
import Configuration
import Crypto
import Glibc
import JSON
import LocalServer
import Storage
import TestDevices
import TestEngines
import TestFiles

/// Coffer as an operator runs it: the real programs as processes over one database on this machine.
///
/// It has its own directory, ports and clock. It and its programs live as long as the test holds it, one of
/// its servers or one of its devices; then everything is removed.
final class Installation: Sendable {
  let engine: TestEngine
  let location: DatabaseLocation
  let clock: TestClock
  private let scratch: ScratchDatabase
  private let settings: Locked<[String: String]>
  private let processes = Locked<[ChildProcess]>([])

  static let authority = "sync.coffer.test"
  static let webhookSecret = Secret("whsec_scenario_0123456789")
  static let webhookSecretText = "whsec_scenario_0123456789"

  /// `directory` holds database and objects instead of the test's own directory. With a `start`, time is
  /// virtual and moves only when set.
  init(
    _ engine: TestEngine = .sqlite, with content: ScratchDatabase.Content = .schemas,
    startingAt start: Instant? = nil, directory: String? = nil, settings: [String: String] = [:]
  ) throws {
    self.engine = engine
    scratch = try ScratchDatabase(engine, with: directory == nil ? content : .nothing)
    let home = directory ?? scratch.directory.path
    location =
      switch scratch.location {
      case .sqlite: .sqlite(directory: home + "/database")
      case .postgres(let url): .postgres(url: url)
      }
    clock = try TestClock(startingAt: start, file: scratch.directory.path + "/clock")
    var all = Launch.environment().filter { !$0.key.hasPrefix(SettingsTable.namePrefix) }
    all["COFFER_DATABASE"] =
      switch location {
      case .sqlite(let directory): "sqlite://" + directory
      case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
      }
    all["COFFER_OBJECTS"] = "file://\(home)/objects"
    all["COFFER_SYNC_AUTHORITIES"] = Self.authority
    // A story's few devices send more requests than a person's do.
    all["COFFER_REQUESTS_BURST"] = "1000000"
    all["COFFER_SEALING_KEYS"] = Base64.standard.encode([UInt8](repeating: 7, count: 32))
    all["COFFER_STRIPE_WEBHOOK_SECRETS"] = Self.webhookSecretText
    if start != nil {
      all["COFFER_MODE"] = "test"
      all["COFFER_TEST_CLOCK"] = scratch.directory.path + "/clock"
    }
    self.settings = Locked(all.merging(settings) { $1 })
  }

  /// Changes the settings of what starts from now on; nil removes one.
  func set(_ changes: [String: String?]) {
    settings.withLock { settings in
      for (name, value) in changes { settings[name] = value }
    }
  }

  deinit {
    for process in processes.withLock({ $0 }) { process.send(SIGKILL) }
    for process in processes.withLock({ $0 }) { process.wait(within: .seconds(30)) }
  }

  var directory: String { scratch.directory.path }

  /// Starts a server program and waits until its database takes writes.
  func start(
    _ program: Program, port: UInt16? = nil, from directory: String? = nil
  ) throws -> Server {
    let server = try launch(program, port: port, from: directory)
    try server.waitUntilReady()
    return server
  }

  /// Starts a server program without waiting; by a shell if it gets a soft limit of descriptors. `directory`
  /// is the place of another build of it.
  func launch(
    _ program: Program, port: UInt16? = nil, settings: [String: String] = [:],
    softDescriptorLimit: Int? = nil, from directory: String? = nil
  ) throws -> Server {
    let port = port ?? Ports.free()
    let listen = program == .sync ? "COFFER_SYNC_LISTEN" : "COFFER_BILLING_LISTEN"
    let environment = self.settings.withLock { $0 }.merging([
      listen: "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
    ]) { $1 }.merging(settings) { $1 }
    let log = "\(self.directory)/\(program.rawValue)-\(port).log"
    let executable = try Self.executable(program, from: directory)
    let words =
      softDescriptorLimit.map { limit in
        ["/bin/sh", "-c", "ulimit -Sn \(limit) && exec \"$0\"", executable]
      } ?? [executable]
    let process = try ChildProcess(
      words[0], Array(words.dropFirst()), environment: environment, output: log, errors: log)
    processes.withLock { $0.append(process) }
    return Server(self, program, process, port: port, log: log)
  }

  /// Runs one command of `coffer` to its end. `previous` is the place of another build of it.
  func command(
    _ arguments: String..., from previous: String? = nil
  ) throws -> (end: ChildProcess.End, output: String) {
    try command(arguments, from: previous)
  }

  func command(
    _ arguments: [String], from previous: String? = nil
  ) throws -> (end: ChildProcess.End, output: String) {
    let (process, name) = try begin(arguments, from: previous)
    guard let end = process.wait(within: .seconds(60)) else {
      throw ScenarioError("coffer \(arguments.joined(separator: " ")) does not end")
    }
    let errors = Files.text(name + ".err") ?? ""
    return (end, (Files.text(name + ".out") ?? "") + errors)
  }

  /// Starts a command without waiting. Its output goes to `name` with `.out` and `.err`.
  func begin(
    _ arguments: [String], from previous: String? = nil
  ) throws -> (process: ChildProcess, name: String) {
    let name = "\(directory)/command-\(Random.identifier())"
    let process = try ChildProcess(
      Self.executable(.command, from: previous), arguments,
      environment: settings.withLock { $0 }, output: name + ".out", errors: name + ".err")
    return (process, name)
  }

  /// A device with an account of its own.
  func device(of sync: Server) throws -> TestDevice {
    let device = device(of: sync, key: Ed25519PrivateKey())
    let answer = try device.post("/v1/accounts", ["root": .string(device.root.description)])
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return device
  }

  func device(
    of sync: Server, key: Ed25519PrivateKey, root: Identifier = Random.identifier()
  ) -> TestDevice {
    TestDevice(port: sync.port, authority: Self.authority, key: key, root: root) {
      self.clock.now()
    }
  }

  /// The programs are next to the test's own executable.
  private static func executable(_ program: Program, from directory: String?) throws -> String {
    if let directory { return "\(directory)/\(program.rawValue)" }
    guard let own = unsafe realpath("/proc/self/exe", nil) else {
      throw ScenarioError("this test does not know where it lies")
    }
    defer { unsafe free(own) }
    let directory = unsafe String(cString: own).split(separator: "/").dropLast()
    let path = "/" + directory.joined(separator: "/") + "/" + program.rawValue
    guard unsafe access(path, X_OK) == 0 else { throw ScenarioError("there is no \(path)") }
    return path
  }
}
