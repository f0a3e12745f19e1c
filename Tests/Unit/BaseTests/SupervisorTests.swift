import Base
import RawClient
import Testing

@Suite struct SupervisorTests {
  @Test(arguments: [false, true])
  func `it hears what it is told, by a file or an abstract name`(isAbstract: Bool) throws {
    let inbox = try #require(SupervisorInbox(isAbstract: isAbstract))
    let supervisor = try #require(
      Supervisor(environment: ["NOTIFY_SOCKET": inbox.name], processID: 1))
    supervisor.tell(.ready)
    supervisor.tell(.stopping)
    #expect(inbox.next() == "READY=1")
    #expect(inbox.next() == "STOPPING=1")
    #expect(supervisor.patience == nil)
    #expect(supervisor.watch { _ in true } == nil)
  }

  @Test func `a program that is alive says so, and one that is not is silent`() throws {
    let inbox = try #require(SupervisorInbox())
    let environment = ["NOTIFY_SOCKET": inbox.name, "WATCHDOG_USEC": "1000000"]
    let supervisor = try #require(Supervisor(environment: environment, processID: 1))
    let isAlive = Locked(false)
    let watch = try #require(supervisor.watch { _ in isAlive.withLock { $0 } })
    #expect(inbox.next(within: 1500) == nil)
    isAlive.withLock { $0 = true }
    #expect(inbox.next() == "WATCHDOG=1")
    watch.stop()
  }

  @Test func `its patience is the service's own`() throws {
    func patience(_ variables: [String: String]) -> Instant.Span? {
      let all = variables.merging(["NOTIFY_SOCKET": "@x"]) { $1 }
      return Supervisor(environment: all, processID: 7)?.patience
    }
    #expect(patience(["WATCHDOG_USEC": "60000000"]) == .seconds(60))
    #expect(patience(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"]) == .seconds(60))
    #expect(patience(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"]) == nil)
    #expect(patience(["WATCHDOG_USEC": "soon"]) == nil)
    #expect(patience(["WATCHDOG_USEC": "0"]) == nil)
  }

  @Test(arguments: ["", "relative", "/" + String(repeating: "a", count: 200)])
  func `a name that is none is nobody`(name: String) {
    #expect(Supervisor(environment: ["NOTIFY_SOCKET": name], processID: 1) == nil)
    #expect(Supervisor(environment: [:], processID: 1) == nil)
  }
}
