import Base
import Endpoints
import Storage
import TestEngines
import TestFiles
import Testing

/// Anyone may ask whether the database takes writes, and the check costs a write.
@Suite struct ReadinessTests {
  @Test(arguments: TestEngine.available)
  func `the database is asked once a second, however many want to know`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let uptime = Locked(MonotonicTime.now())
    let readiness = Readiness(server.database) { uptime.withLock { $0 } }
    func isReady() -> Bool {
      let answer = Locked<Bool?>(nil)
      readiness.ask { result in answer.signal { $0 = (try? result.get()) != nil } }
      return answer.wait(until: .now() + .seconds(10)) { $0 } ?? false
    }
    let before = server.database.writeWork.statementCount
    for _ in 0..<20 { #expect(isReady()) }
    #expect(server.database.writeWork.statementCount - before == 1)
    uptime.withLock { $0 = $0 + .seconds(1) }
    for _ in 0..<20 { #expect(isReady()) }
    #expect(server.database.writeWork.statementCount - before == 2)
  }

  @Test func `without the disk of the objects a program is not ready`() throws {
    let server = try TestServer()
    let readiness = Readiness(server.database, server.objects)
    Files.removeAll(server.objectsDirectory)
    let isRefused = Locked<Bool?>(nil)
    readiness.ask { result in isRefused.signal { $0 = (try? result.get()) == nil } }
    #expect(isRefused.wait(until: .now() + .seconds(10)) { $0 } == true)
  }

  @Test func `a database that takes no writes is told, and asked again`() throws {
    let server = try TestServer()
    let uptime = Locked(MonotonicTime.now())
    let readiness = Readiness(server.database) { uptime.withLock { $0 } }
    server.database.close()
    let isRefused = Locked<Bool?>(nil)
    readiness.ask { result in isRefused.signal { $0 = (try? result.get()) == nil } }
    #expect(isRefused.wait(until: .now() + .seconds(10)) { $0 } == true)
  }
}
