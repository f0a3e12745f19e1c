import Base
import Testing

@Suite struct TraceContextTests {
  private static let id = "4bf92f3577b34da6a3ce929d0e0e4736"

  @Test(arguments: [
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
    "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later",
  ])
  func `a well-formed field tells its trace`(text: String) {
    #expect(TraceContext(text)?.id == Self.id)
  }

  @Test(arguments: [
    "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00",
    "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-xy",
    "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
  ])
  func `anything else tells none`(text: String) {
    #expect(TraceContext(text) == nil)
  }

  @Test func `what is carried on has the trace, its flag and a number of its own`() throws {
    for flag in ["00", "01"] {
      let text = "00-\(Self.id)-00f067aa0ba902b7-\(flag)"
      let carried = try #require(TraceContext(text)).traceparent
      #expect(carried != text)
      #expect(carried.hasSuffix("-" + flag))
      #expect(TraceContext(carried) == TraceContext(text))
    }
  }

  @Test func `each trace that begins is another`() {
    let traces = (0..<100).map { _ in TraceContext.begin() }
    #expect(Set(traces.map(\.id)).count == 100)
    #expect(traces.allSatisfy { TraceContext($0.traceparent) == $0 })
  }
}
