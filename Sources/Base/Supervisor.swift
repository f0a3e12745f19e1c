import Glibc

/// The supervisor that started the program and wants status notifications: systemd, by sd_notify(3).
package struct Supervisor: Sendable {
  package enum News: String, Sendable {
    case ready = "READY=1"
    case alive = "WATCHDOG=1"
    case stopping = "STOPPING=1"
  }

  /// The name of the supervisor's socket as the system's calls take it. It begins with a NUL if it is not a file.
  private let path: [UInt8]
  /// The silence after which the supervisor ends the program; nil: it never does.
  package let patience: Instant.Span?

  /// Nil if the program was started without a supervisor.
  package init?(environment: [String: String], processID: Int32) {
    guard let socket = environment["NOTIFY_SOCKET"], let first = socket.utf8.first,
      first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
      socket.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
    else { return nil }
    path = first == UInt8(ascii: "@") ? [0] + socket.utf8.dropFirst() : Array(socket.utf8)
    let isMeant = environment["WATCHDOG_PID"].map { $0 == String(processID) } ?? true
    patience = environment["WATCHDOG_USEC"].flatMap { Int64($0) }
      .flatMap { isMeant && $0 > 0 ? .milliseconds($0 / 1000) : nil }
  }

  /// Sends a notification. Logs a warning if that fails.
  package func tell(_ news: News) {
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: path) }
    let byteCount = MemoryLayout<sa_family_t>.size + path.count
    let text = Array(news.rawValue.utf8)
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    let count = unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe sendto(
          descriptor, text, text.count, Int32(MSG_NOSIGNAL), pointer, socklen_t(byteCount))
      }
    }
    if count != text.count { Log.warning("program.supervisor_unreachable") }
  }

  /// Reports three times within `patience` that the program lives, if `isAlive`. Nil if the supervisor does not watch.
  package func watch(_ isAlive: @escaping @Sendable (Instant.Span) -> Bool) -> Periodic? {
    guard let patience else { return nil }
    let span = max(1, patience.milliseconds / 3000)
    return Periodic("supervisor", every: span) {
      if isAlive(.seconds(span)) {
        tell(.alive)
      } else {
        Log.error("program.silent", ["seconds": String(span)])
      }
    }
  }
}
