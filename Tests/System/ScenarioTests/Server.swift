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

  /// Returns once `/readyz` answers 200. Throws with the program's last log lines if it never does.
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

  /// Ends the program as a crash or a power failure would.
  func kill() {
    process.send(SIGKILL)
    process.wait(within: Self.stopSpan)
  }

  /// Asks the program to end, and waits; nil if it does not end.
  @discardableResult
  func stop() -> ChildProcess.End? {
    process.send(SIGTERM)
    return process.wait(within: Self.stopSpan)
  }

  /// The whole log.
  var words: String { Files.text(log) ?? "" }

  var lastWords: String {
    words.split(separator: "\n").suffix(5).joined(separator: "\n")
  }
}
