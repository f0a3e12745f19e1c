import Base
import Glibc
import TestFiles
import Testing

@Suite struct ClockTests {
  @Test func `a clock in a file shows what the file holds, at every call`() throws {
    let path = "/tmp/coffer-clock-\(getpid())"
    defer { unsafe unlink(path) }
    let clock = Clock.file(path)
    for milliseconds in ["1772445300000\n", "1772445300001", "-1"] {
      try Files.write(milliseconds, to: path)
      #expect(String(clock.now().milliseconds) == milliseconds.filter { $0 != "\n" })
    }
  }

  @Test func `a clock whose file holds no time stops the program`() async {
    await #expect(processExitsWith: .failure) { _ = Clock.file("/dev/null").now() }
  }

  @Test func `monotonic time never goes back, and deadlines lie ahead`() {
    let start = MonotonicTime.now()
    #expect(start <= MonotonicTime.now())
    #expect(start < start + .milliseconds(1))
    #expect(start + .seconds(-1) == start)
  }

  @Test func `the longest span that a command takes lies ahead, too`() {
    let start = MonotonicTime.now()
    let (longest, week) = (Instant.Span.seconds(999_999 * 604_800), Instant.Span.days(7))
    #expect(start + week < start + longest)
    #expect(start + longest <= start + longest + week)
  }

  @Test func `a file closes with its last holder`() {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let code = unsafe socketpair(AF_UNIX, kind, 0, &ends)
    #expect(code == 0)
    defer { close(ends[0]) }
    do {
      let file = OpenFile(owning: ends[1], byteCount: 0)
      #expect(file.descriptor == ends[1])
    }
    // No writer is left, so this reads the end instead of waiting.
    var byte: UInt8 = 0
    let count = unsafe read(ends[0], &byte, 1)
    #expect(count == 0)
  }
}
