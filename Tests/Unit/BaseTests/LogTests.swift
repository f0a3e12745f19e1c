import Base
import Glibc
import Testing

@Suite struct LogTests {
  @Test func `a line has time, level, event and fields`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      Log.info("webhook.recorded", ["type": "invoice.paid", "count": "3"])
    }
    let line = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(line.hasSuffix("Z info webhook.recorded type=invoice.paid count=3\n"))
    #expect(line.contains(#/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z /#))
  }

  @Test func `a hostile value cannot forge a line or a field`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      Log.warning("x", ["a": "1\n2026-01-01T00:00:00Z error forged", "b": "v c=d", "e": "\"\\"])
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.split(separator: "\n").count == 1)
    #expect(
      text.hasSuffix(
        #" warning x a="1\n2026-01-01T00:00:00Z error forged" b="v c=d" e="\"\\""# + "\n"))
  }

  @Test func `no control character reaches the terminal`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      Log.error(
        "x", ["a": "\u{1B}[2J\u{7F}\r\t\u{0}", "b": "\u{85}\u{9B}1m\u{2028}\u{2029}", "c": "é"])
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(
      text.hasSuffix(
        #" error x a="\x1b[2J\x7f\x0d\x09\x00" b="\x85\x9b1m\u2028\u2029" c="é""# + "\n"))
  }

  @Test func `a long value is cut off`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      Log.info("x", ["a": String(repeating: "y", count: 100_000), "b": ""])
    }
    #expect(result.standardErrorContent.count < 1200)
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self).hasSuffix(" b=\"\"\n"))
  }

  @Test func `the journal gets the level before a line, and nobody else`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      var status = stat()
      _ = unsafe fstat(STDERR_FILENO, &status)
      unsafe setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
      Log.info("a")
      Log.warning("b")
      Log.error("c")
    }
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.map { $0.prefix(4) } == ["<6>2", "<4>2", "<3>2"])
    let other = try await #require(processExitsWith: .success, observing: [\.standardErrorContent])
    {
      unsafe setenv("JOURNAL_STREAM", "1:2", 1)
      Log.info("a")
    }
    #expect(String(decoding: other.standardErrorContent, as: UTF8.self).hasPrefix("2"))
  }

  @Test func `a secret shows nothing of itself`() {
    let secret = Secret("whsec_1234")
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), "\([secret])", "\((secret, 1))", dumped] {
      #expect(!text.contains("1234"))
      #expect(text.contains("secret") || text.contains("Secret"))
    }
  }
}
