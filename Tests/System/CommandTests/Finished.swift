import Glibc
import TestEngines
import TestFiles
import Testing

/// A program that has ended, with its output. Its environment is the given one and the sanitizers' settings.
struct Finished {
  let code: Int32
  let out: String
  let errors: String

  enum Failure: Error { case notStarted(Int32), noEnd(Int32) }

  /// Runs `coffer`.
  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    try self.init("coffer", arguments, environment: environment)
  }

  init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    try self.init(
      path: Binaries.directory + "/" + program, arguments, environment: environment)
  }

  /// Runs any program of the machine.
  init(path: String, _ arguments: [String], environment: [String: String]) throws {
    let scratch = try ScratchDirectory()
    let (out, errors) = (scratch.path + "/out", scratch.path + "/errors")
    let child = try Self.start(path, arguments, environment, out: out, errors: errors)
    code = try Self.code(of: child)
    self.out = Files.text(out) ?? ""
    self.errors = Files.text(errors) ?? ""
  }

  /// The output of `coffer` on a terminal with `width` columns, without colours. `line` is for the shell.
  static func screen(
    _ line: String, _ width: Int, _ environment: [String: String]
  ) throws -> String {
    let shown = try Finished(
      path: "/usr/bin/script",
      ["-qec", "stty cols \(width); \(Binaries.directory)/coffer \(line)", "/dev/null"],
      environment: environment.merging(["NO_COLOR": "1", "TERM": "xterm"]) { $1 })
    return shown.out.replacing("\r\n", with: "\n")
  }

  /// Waits until the program that `start` started ends.
  static func code(of child: pid_t) throws -> Int32 {
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) < 0 {
      guard errno == EINTR else { throw Failure.noEnd(errno) }
    }
    // A signal's number becomes a code above 128, as in a shell.
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  /// Starts a program with its output in files. The caller must wait for its end.
  static func start(
    _ path: String, _ arguments: [String], _ environment: [String: String], out: String,
    errors: String
  ) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    let mode: mode_t = 0o600
    let flags = O_WRONLY | O_CREAT | O_TRUNC
    unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, flags, mode)
    unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, flags, mode)
    let words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
    let environment = environment.merging(Sanitizers.environment) { own, _ in own }
    let variables = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
    defer { unsafe (words + variables).forEach { unsafe free($0) } }
    // The tests may run with signals ignored, as a shell does behind &.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for number in [SIGINT, SIGTERM] { unsafe sigaddset(&signals, number) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var child = pid_t()
    let error = unsafe posix_spawn(&child, path, &actions, &attributes, words, variables)
    guard error == 0 else { throw Failure.notStarted(error) }
    return child
  }
}

/// The directory of the package's built programs, which also contains the test program.
enum Binaries {
  static let directory: String = {
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
    let path = String(
      decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
  }()
}

/// Tests of commands in one installation, which `environment` names.
protocol CommandSuite {
  var environment: [String: String] { get }
}

extension CommandSuite {
  /// Runs `coffer`.
  func coffer(_ words: String...) throws -> Finished {
    try Finished(words, environment: environment)
  }

  /// Migrates the database and creates accounts by their names and ids, with their keys in files of `scratch`.
  func createAccounts(
    _ accounts: KeyValuePairs<String, String>, in scratch: ScratchDirectory
  ) throws {
    _ = try coffer("migrate")
    for (name, id) in accounts {
      let created = try coffer(
        "account", "create", "--username", name, "--id", id, "--key-file",
        "\(scratch.path)/\(name).key")
      #expect(created.code == 0, "\(created.errors)")
    }
  }
}
