package import Base
package import HTTPServer

/// The open streams with what their sockets' buffers did not take. For the loop's thread.
///
/// A stream holds at most one event that is sent in part, and one that waits, to which later ones are added.
package struct OpenStreams {
  private struct Stream {
    let seat: Seats.Seat
    let ends: MonotonicTime
    var unsent: [UInt8] = []
    var waiting = Tell()
    /// Since when the socket's buffer has been full.
    var fullSince: MonotonicTime?
  }

  private let watch: SocketWatch
  private let limits: StreamLimits
  private var streams: [Int32: Stream] = [:]
  private var full: Set<Int32> = []
  private var ended: [Int32] = []
  /// What was told last, and its bytes. Most streams are told the same.
  private var latest = (tell: Tell.everything, event: Tell.everything.event)

  private static let heartbeat = Array(":\n\n".utf8)

  package init(_ watch: SocketWatch, _ limits: StreamLimits) {
    self.watch = watch
    self.limits = limits
  }

  /// Takes over a connection; false if it is over already.
  package mutating func begin(
    _ socket: Int32, _ seat: Seats.Seat, at now: MonotonicTime
  ) -> Bool {
    guard watch.add(socket, silence: limits.stallSpan) else {
      watch.end(socket)
      return false
    }
    let lifetime = limits.lifetime.milliseconds
    let span = Int64.random(in: lifetime - lifetime / 10...lifetime + lifetime / 10)
    streams[socket] = Stream(seat: seat, ends: now + .milliseconds(span))
    send(Self.retry(seconds: 3...8), to: socket, at: now)
    return streams[socket] != nil
  }

  /// Sends an event, or adds it to the one that waits.
  package mutating func tell(_ socket: Int32, _ tell: Tell, at now: MonotonicTime) {
    guard let stream = streams[socket] else { return }
    if stream.fullSince != nil {
      streams[socket]?.waiting.merge(tell)
    } else {
      StreamMetrics.events.add()
      if latest.tell != tell { latest = (tell, tell.event) }
      send(latest.event, to: socket, at: now)
    }
  }

  /// Sends what waited, once the socket's buffer takes bytes again.
  package mutating func goOn(_ socket: Int32, at now: MonotonicTime) {
    guard let stream = streams[socket], stream.fullSince != nil else { return }
    streams[socket]?.fullSince = nil
    streams[socket]?.unsent = []
    streams[socket]?.waiting = Tell()
    full.remove(socket)
    send(stream.unsent, to: socket, at: now)
    if !stream.waiting.isEmpty { tell(socket, stream.waiting, at: now) }
    if streams[socket] != nil, !full.contains(socket) { watch.awaitRoom(socket, false) }
  }

  /// Gives a sign of life, or ends the stream if its time is over; false if it has ended.
  mutating func beat(_ socket: Int32, at now: MonotonicTime) -> Bool {
    guard let stream = streams[socket] else { return false }
    if stream.ends <= now {
      end(socket, .aged)
    } else if stream.fullSince == nil {
      send(Self.heartbeat, to: socket, at: now)
    }
    return streams[socket] != nil
  }

  mutating func endStalled(at now: MonotonicTime) {
    for socket in full {
      if let since = streams[socket]?.fullSince, since + limits.stallSpan <= now {
        end(socket, .stalled)
      }
    }
  }

  mutating func end(_ socket: Int32, _ reason: StreamEnd) {
    guard streams.removeValue(forKey: socket) != nil else { return }
    full.remove(socket)
    watch.end(socket)
    ended.append(socket)
    StreamMetrics.end(reason)
  }

  /// Tells all clients to come again, spread over some seconds.
  mutating func endAll() {
    for (socket, stream) in streams {
      if stream.fullSince == nil { _ = watch.send(Self.retry(seconds: 1...15), to: socket) }
      end(socket, .stopped)
    }
  }

  mutating func takeEnded() -> [Int32] {
    defer { ended = [] }
    return ended
  }

  /// The client's pause before it connects again, at random.
  private static func retry(seconds: ClosedRange<Int>) -> [UInt8] {
    let milliseconds = Int.random(in: seconds.lowerBound * 1000...seconds.upperBound * 1000)
    return Array("retry: \(milliseconds)\n\n".utf8)
  }

  private mutating func send(_ bytes: [UInt8], to socket: Int32, at now: MonotonicTime) {
    guard let count = watch.send(bytes, to: socket) else { return end(socket, .closed) }
    guard count < bytes.count else { return }
    streams[socket]?.unsent = Array(bytes[count...])
    streams[socket]?.fullSince = now
    full.insert(socket)
    watch.awaitRoom(socket, true)
  }
}
