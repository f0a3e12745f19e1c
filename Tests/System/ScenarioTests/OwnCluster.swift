import Base
import Configuration
import TestEngines
import TestFiles

/// A PostgreSQL server of one test, which may restart it. Other tests share another one.
final class OwnCluster {
  let url: String
  private let directory: ScratchDirectory

  private static let span = Instant.Span.seconds(120)

  init() throws {
    directory = try ScratchDirectory()
    url = try Self.run("start", directory.path).filter { !$0.isNewline }
  }

  deinit { _ = try? Self.run("stop", directory.path) }

  /// Ends the server as a crash would, and starts it again. Returns once it takes connections.
  func restart() throws { _ = try Self.run("restart", directory.path) }

  private static func run(_ action: String, _ path: String) throws -> String {
    let output = try ScratchDirectory()
    let name = "\(output.path)/output"
    let process = try ChildProcess(
      "\(Files.repository)/ops/postgres", [action, path], environment: Launch.environment(),
      output: name, errors: name)
    guard process.wait(within: span) == .exited(0) else {
      throw ScenarioError("ops/postgres \(action) failed: \(Files.text(name) ?? "")")
    }
    return Files.text(name) ?? ""
  }
}
