import Base
import Glibc
import SeededRandom

/// Clients that write, and wait for the answer and for their own stream's event, until stopped.
///
/// Each write is told by itself, so it is known which event belongs to which write.
final class StreamProbes: Sendable {
  private static let contentByteCount = 1000
  private static let patienceMilliseconds: Int32 = 60_000
  /// At random, so that writes fall anywhere between two messages of the server.
  private static let pauseMicroseconds: ClosedRange<UInt32> = 1000...40_000

  struct Times: Sendable {
    /// From the answer to the event; 0 if the event was first. The commit is at most a little before the answer.
    var fromAnswer: [UInt64] = []
    /// From the request to the event, with the wait for the commit.
    var fromRequest: [UInt64] = []
  }

  private struct State {
    var times = Times()
    var failure: BenchError?
    var isStopped = false
  }

  private let state = Locked(State())
  private let threads = Locked<[Thread]>([])

  /// One client for each account.
  init(_ clients: SyncClients, count: Int, port: UInt16, seed: UInt64) {
    let threads = (0..<count).map { index in
      Thread { [state] in
        var own = Times()
        do throws(BenchError) {
          var random = SeededGenerator(seed: seed &+ UInt64(index))
          let stream = try StreamSocket(
            clients.requests("GET", StreamSocket.target, of: index..<index + 1, now: .now), 0,
            port: port)
          let socket = try Socket(port: port)
          var turn = 0
          while !state.withLock({ $0.isStopped }) {
            usleep(UInt32.random(in: Self.pauseMicroseconds, using: &random))
            // A look at the database may have told of the last write once more.
            _ = stream.receive()
            let write = clients.write(
              random.bytes(count: Self.contentByteCount), by: index, turn: turn, now: .now)
            try Self.time(write, socket, stream, &own)
            turn += 1
          }
        } catch {
          state.withLock { $0.failure = error }
        }
        state.withLock { state in
          state.times.fromAnswer += own.fromAnswer
          state.times.fromRequest += own.fromRequest
        }
      }
    }
    self.threads.withLock { $0 = threads }
  }

  func stop() throws(BenchError) -> Times {
    state.withLock { $0.isStopped = true }
    for thread in threads.withLock({ $0 }) { thread.join() }
    let (times, failure) = state.withLock { ($0.times, $0.failure) }
    if let failure { throw failure }
    return times
  }

  private static func time(
    _ write: Requests, _ socket: Socket, _ stream: StreamSocket, _ times: inout Times
  ) throws(BenchError) {
    let start = MonotonicTime.now()
    var (answered, told): (MonotonicTime?, MonotonicTime?)
    try socket.send(write, 0)
    while answered == nil || told == nil {
      // A negative descriptor is ignored.
      var waits = [
        pollfd(fd: answered == nil ? socket.descriptor : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: told == nil ? stream.descriptor : -1, events: Int16(POLLIN), revents: 0),
      ]
      let count = unsafe poll(&waits, nfds_t(waits.count), patienceMilliseconds)
      guard count > 0 else {
        if count < 0, errno == EINTR { continue }
        throw .server("a write was not answered, or not told, for a minute")
      }
      let now = MonotonicTime.now()
      if waits[0].revents != 0, let status = try socket.receive() {
        guard (200..<300).contains(status) else { throw .server("refused:\n\(socket.lastAnswer)") }
        answered = now
      }
      if waits[1].revents != 0 {
        guard let part = stream.receive() else { throw .server("a stream ended") }
        if StreamSocket.tells(part) { told = now }
      }
    }
    guard let answered, let told else { return }
    times.fromAnswer.append(answered < told ? told.nanoseconds - answered.nanoseconds : 0)
    times.fromRequest.append(told.nanoseconds - start.nanoseconds)
  }
}
