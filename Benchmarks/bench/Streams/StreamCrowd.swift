import Base
import Glibc

/// Many streams whose clients only listen: a socket each, and one thread that reads them all.
///
/// The thread reads once a second what has come, because nobody waits for what these clients are told. It uses only the
/// time that the server leaves: its work would be on other machines.
final class StreamCrowd: Sendable {
  private static let openerCount = 16
  private static let niceness: Int32 = 19
  /// The streams that share an address, because an address has only so many ports. The server does not limit this
  /// machine's own addresses.
  private static let countPerAddress = 1000
  private static let firstAddress: UInt32 = 0x7F00_0101
  private static let pause = Instant.Span.seconds(1)

  private struct State {
    var streams: [StreamSocket] = []
    var isClosing = false
    var reader: Thread?
  }

  private let port: UInt16
  private let state = Locked(State())

  init(port: UInt16) { self.port = port }

  /// The number of streams that are open.
  var count: Int { state.withLock { $0.streams.count } }

  /// Opens one more stream for each request, and waits until each has been told something.
  func open(_ requests: Requests) throws(BenchError) {
    let before = count
    let next = Locked(0)
    let failure = Locked<BenchError?>(nil)
    let threads = (0..<Self.openerCount).map { _ in
      Thread { [state, port] in
        do throws(BenchError) {
          while failure.withLock({ $0 == nil }) {
            let index = next.withLock { index in
              defer { index += 1 }
              return index
            }
            guard index < requests.count else { return }
            let source = Self.firstAddress + UInt32((before + index) / Self.countPerAddress)
            let stream = try StreamSocket(requests, index, port: port, from: source)
            state.withLock { $0.streams.append(stream) }
          }
        } catch {
          failure.withLock { $0 = error }
        }
      }
    }
    for thread in threads { thread.join() }
    if let failure = failure.withLock({ $0 }) { throw failure }
    state.withLock { state in
      if state.reader == nil { state.reader = Thread { [self] in read() } }
    }
  }

  /// Ends all streams.
  func close() {
    state.signal { $0.isClosing = true }
    state.withLock { $0.reader.take() }?.join()
    state.withLock { $0.streams = [] }
  }

  /// Reads what has come on every stream, again and again. A stream that has ended counts no more.
  private func read() {
    setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
    while state.wait(until: .now() + Self.pause, { $0.isClosing ? true : nil }) == nil {
      let streams = state.withLock { $0.streams }
      // One call asks all of them: with a call for each, idle streams would take the server's time.
      var waits = streams.map {
        pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
      }
      guard unsafe poll(&waits, nfds_t(waits.count), 0) > 0 else { continue }
      var ended: Set<Int32> = []
      for (stream, wait) in zip(streams, waits)
      where wait.revents != 0 && stream.receive() == nil {
        ended.insert(stream.descriptor)
      }
      guard !ended.isEmpty else { continue }
      state.withLock { $0.streams.removeAll { ended.contains($0.descriptor) } }
    }
  }
}
