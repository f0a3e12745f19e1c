import Base
import Configuration
import Glibc
import HTTPClient
import TestFiles

/// A running `coffer-sync` or `coffer-billing`.
final class Server: Sendable {
  let installation: Installation
  let program: Program
  let port: UInt16
  let process: ChildProcess
  private let log: String
  private let client = HTTPClient()

  /// Generous: a sanitizer's build starts slowly, and other work shares the machine.
  private static let startSpan = Instant.Span.seconds(60)
  private static let stopSpan = Instant.Span.seconds(60)

  init(
    _ installation: Installation, _ program: Program, _ process: ChildProcess, port: UInt16,
    log: String
  ) {
    self.installation = installation
    self.program = program
    self.process = process
    self.port = port
    self.log = log
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// Returns once `/readyz` says so; throws with the program's last words where it never does.
  func waitUntilReady() throws {
    let deadline = MonotonicTime.now() + Self.startSpan
    while MonotonicTime.now() < deadline {
      if let end = process.wait(within: .milliseconds(0)) {
        throw ScenarioError("\(program.rawValue) ended (\(end)) instead of serving:\n\(lastWords)")
      }
      if isReady { return }
      usleep(5000)
    }
    throw ScenarioError("\(program.rawValue) is not ready:\n\(lastWords)")
  }

  var isReady: Bool {
    (try? client.send("GET", url + "/readyz", timeout: .seconds(10)))?.status == 200
  }

  /// Ends it as a crash or a power button would.
  func kill() {
    process.send(SIGKILL)
    process.wait(within: Self.stopSpan)
  }

  /// Asks it to end and waits; nil where it does not.
  @discardableResult
  func stop() -> ChildProcess.End? {
    process.send(SIGTERM)
    return process.wait(within: Self.stopSpan)
  }

  /// Everything it has printed.
  var words: String { Files.text(log) ?? "" }

  var lastWords: String {
    words.split(separator: "\n").suffix(5).joined(separator: "\n")
  }
}

/// Ports for servers that are named before they start.
enum Ports {
  /// Below the range that the system gives to clients (ip_local_port_range begins at 32768), so
  /// that no connection of another test takes the port while its server restarts.
  private static let range: Range<UInt16> = 15_000..<32_000
  private static let taken = Locked<Set<UInt16>>([])

  /// A port that nobody listens on and that this process has not handed out before.
  static func free() throws -> UInt16 {
    for _ in 0..<1000 {
      let port = UInt16.random(in: range)
      if taken.withLock({ $0.insert(port).inserted }), isFree(port) { return port }
    }
    throw ScenarioError("no port is free")
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    } == 0
  }
}
