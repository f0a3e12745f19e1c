package import Base
import CMicrohttpd
import Glibc

/// Watches sockets that were handed over by their exchanges, for one thread that serves them all.
///
/// An idle socket costs a descriptor and memory. What clients send is not read. Other threads may only call `ring`.
package final class SocketWatch: Sendable {
  /// What has happened to a socket.
  package enum Event: Sendable {
    /// The client has closed its side, or cannot be reached.
    case gone(Int32)
    case hasRoom(Int32)
  }

  private let epoll: Int32
  private let bell: Bell

  /// Nil if the process has too many files open.
  package init?() {
    guard let bell = Bell() else { return nil }
    self.bell = bell
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { return nil }
    coffer_epoll_add_bell(epoll, bell.descriptor)
  }

  deinit { if epoll >= 0 { close(epoll) } }

  /// Ends the wait, now or when it begins.
  package func ring() { bell.ring() }

  /// Watches a socket and gives it the properties of an idle stream; false if that is not possible.
  ///
  /// Its unsent bytes are bounded. A client that does not acknowledge any is given up after `silence`.
  package func add(_ socket: Int32, silence: Instant.Span) -> Bool {
    for (level, name, value) in [
      (SOL_SOCKET, SO_SNDBUF, Self.sendBufferByteCount),
      (Int32(IPPROTO_TCP), TCP_NODELAY, 1),
      (Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: silence.milliseconds)),
    ] {
      // A socket that is not of TCP has no such property, and needs none.
      var value = value
      unsafe setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }
    return coffer_epoll_set(epoll, EPOLL_CTL_ADD, socket, 0) == 0
  }

  /// Whether to say when a socket's buffer takes bytes again.
  package func awaitRoom(_ socket: Int32, _ isWanted: Bool) {
    _ = coffer_epoll_set(epoll, EPOLL_CTL_MOD, socket, isWanted ? 1 : 0)
  }

  /// Sends what the socket's buffer takes, and returns how many bytes; nil if the connection is over.
  package func send(_ bytes: [UInt8], to socket: Int32) -> Int? {
    let count = unsafe bytes.withUnsafeBytes { buffer in
      unsafe Glibc.send(
        socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EINTR ? 0 : nil
  }

  /// Closes a socket. What was sent before still arrives.
  package func end(_ socket: Int32) {
    _ = coffer_epoll_set(epoll, EPOLL_CTL_DEL, socket, 0)
    shutdown(socket, Int32(SHUT_WR))
    close(socket)
  }

  /// Waits for an event or a ring, at most for `milliseconds`; -1 waits for ever.
  package func wait(atMost milliseconds: Int32) -> [Event] {
    var news = [coffer_epoll_news](
      repeating: coffer_epoll_news(), count: Int(COFFER_EPOLL_COUNT_MAX))
    let count = unsafe coffer_epoll_wait(epoll, &news, milliseconds)
    var events: [Event] = []
    for one in news.prefix(Int(max(0, count))) {
      if one.socket == bell.descriptor {
        bell.hear()
      } else {
        events.append(one.is_gone != 0 ? .gone(one.socket) : .hasRoom(one.socket))
      }
    }
    return events
  }

  /// The kernel doubles it for its own use. Many events fit, few enough for many streams.
  private static let sendBufferByteCount: Int32 = 4096
}
