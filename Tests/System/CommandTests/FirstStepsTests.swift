import LocalServer
import TestEngines
import TestFiles
import Testing

struct FirstStepsTests {
  private static func root() throws -> Substring {
    let source = #filePath
    return try #require(source.ranges(of: "/Tests/").last.map { source[..<$0.lowerBound] })
  }

  /// The commands of README's "First steps", without the line that locates `ops/run`'s settings.
  private static func steps() throws -> String {
    let readme = try #require(Files.text("\(try root())/README.md"))
    let start = try #require(readme.firstRange(of: "## First steps\n")).upperBound
    let section = readme[
      start..<(try #require(readme[start...].firstRange(of: "\n## "))).lowerBound]
    let blocks = section.split(separator: "```", omittingEmptySubsequences: false)
    return blocks.indices.filter { $0 % 2 == 1 }.map { blocks[$0] }.joined()
      .split(separator: "\n").filter { !$0.hasPrefix("export COFFER_CONFIG") }
      .joined(separator: "\n")
  }

  @Test func `the README's first steps run as they are written`() throws {
    let scratch = try ScratchDirectory()
    let (port, billingPort) = (Ports.free(), Ports.free())
    let environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_OBJECTS": "file://\(scratch.path)/objects",
      "COFFER_SYNC_LISTEN": "127.0.0.1:\(port)",
      "COFFER_SYNC_AUTHORITIES": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(billingPort)",
      "COFFER_PLANS": "\(try Self.root())/webhooks/catalogue.json",
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_first_steps",
    ]
    let sync = try Running("coffer-sync", environment: environment, port: port)
    let billing = try Running(
      "coffer-billing",
      environment: environment.merging([
        "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())"
      ]) { $1 }, port: billingPort)
    let script =
      "cd \(scratch.path)\nln -s \(try Self.root())/webhooks .\nset -euo pipefail\n"
      + (try Self.steps())
    let shell = environment.merging(["PATH": "\(Binaries.directory):/usr/bin:/bin"]) { $1 }
    let finished = try withExtendedLifetime((sync, billing)) {
      try Finished(path: "/bin/bash", ["-c", script], environment: shell)
    }
    #expect(finished.code == 0, "\(finished.out)\n\(finished.errors)")
    #expect(finished.out.contains("4096 bytes in note.bin"))
    #expect(finished.out.contains("right      yes"))
    #expect(finished.out.contains("cap       30 GB (30000000000 bytes), plan premium"))
  }
}
