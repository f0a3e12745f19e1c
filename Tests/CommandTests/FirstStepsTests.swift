import Testing

struct FirstStepsTests {
  /// The commands of README's "First steps", without the line that finds `ops/run`'s settings.
  private static func steps() throws -> String {
    let source = #filePath
    let root = try #require(source.ranges(of: "/Tests/").last.map { source[..<$0.lowerBound] })
    let readme = try Scratch.text("\(root)/README.md")
    let start = try #require(readme.firstRange(of: "## First steps\n")).upperBound
    let section = readme[
      start..<(try #require(readme[start...].firstRange(of: "\n## "))).lowerBound]
    let blocks = section.split(separator: "```", omittingEmptySubsequences: false)
    return blocks.indices.filter { $0 % 2 == 1 }.map { blocks[$0] }.joined()
      .split(separator: "\n").filter { !$0.hasPrefix("export COFFER_CONFIG") }
      .joined(separator: "\n")
  }

  @Test func `the README's first steps run as they are written`() throws {
    let scratch = try Scratch()
    let port = Running.freePort()
    let environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_OBJECTS": "file://\(scratch.path)/objects",
      "COFFER_SYNC_LISTEN": "127.0.0.1:\(port)",
      "COFFER_SYNC_AUTHORITIES": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Running.freePort())",
    ]
    let sync = try Running("coffer-sync", environment: environment, port: port)
    let script = "cd \(scratch.path)\nset -euo pipefail\n" + (try Self.steps())
    let shell = environment.merging(["PATH": "\(Binaries.directory):/usr/bin:/bin"]) { $1 }
    let finished = try withExtendedLifetime(sync) {
      try Finished(path: "/bin/bash", ["-c", script], environment: shell)
    }
    #expect(finished.code == 0, "\(finished.out)\n\(finished.errors)")
    #expect(finished.out.contains("4096 bytes in note.bin"))
    #expect(finished.out.contains("right    yes"))
  }
}
