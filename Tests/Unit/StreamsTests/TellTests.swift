import Base
import Storage
import Streams
import Testing

@Suite struct TellTests {
  private static let ada = Identifier(high: 1, low: 1)

  private static func text(_ tell: Tell) -> String { String(decoding: tell.event, as: UTF8.self) }

  private static func logs(_ numbers: some Sequence<Int>) -> Tell {
    var tell = Tell()
    for number in numbers {
      tell.merge(
        Tell(News(of: ada, News.Topic("logs"), Identifier(high: 0, low: UInt64(number)))))
    }
    return tell
  }

  @Test func `an event names what has changed, and carries nothing of it`() {
    var tell = Self.logs([2, 1])
    tell.merge(Tell(News(of: Self.ada, News.Topic("tree"), number: 7)))
    #expect(
      Self.text(tell) == """
        event: pull
        data: {"logs":["00000000-0000-0000-0000-000000000001","00000000-0000-0000-0000-000000000002"],"tree":true}


        """)
  }

  @Test func `everything takes in whatever else is told`() {
    var tell = Tell(kinds: ["cap"])
    tell.merge(.everything)
    tell.merge(Tell(kinds: ["tree"]))
    #expect(tell == .everything)
    #expect(Self.text(tell) == "event: pull\ndata: {\"all\":true}\n\n")
  }

  @Test func `a whole kind takes in its subjects, in either order`() {
    var tell = Self.logs([1])
    tell.merge(Tell(kinds: ["logs"]))
    var other = Tell(kinds: ["logs"])
    other.merge(Self.logs([1]))
    #expect(tell == Tell(kinds: ["logs"]))
    #expect(other == tell)
  }

  @Test func `more subjects than are named are told as everything`() {
    #expect(Self.logs(1...Tell.subjectCountMax) != .everything)
    #expect(Self.logs(0...Tell.subjectCountMax) == .everything)
  }
}
