import Glibc
import TestEngines
import TestFiles

/// One of the servers, or the fakes, running on its own port until this value is released.
final class Running {
  private let child: pid_t
  private let scratch: ScratchDirectory

  struct NotAnswering: Error {
    let lastWords: String
  }

  /// Returns once `port` accepts connections.
  init(
    _ program: String, _ words: [String] = [], environment: [String: String], port: UInt16
  ) throws {
    scratch = try ScratchDirectory()
    let log = scratch.path + "/log"
    child = try Finished.start(
      Binaries.directory + "/" + program, words, environment, out: "/dev/null", errors: log)
    // A generous limit, because other work shares the machine.
    for _ in 0..<1200 {
      if Self.answers(port) { return }
      usleep(50_000)
    }
    throw NotAnswering(lastWords: Files.text(log) ?? "")
  }

  /// The log so far.
  var log: String { Files.text(scratch.path + "/log") ?? "" }

  deinit {
    kill(child, SIGTERM)
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
  }

  /// A socket that listens and never answers; the caller closes it.
  static func silentListener() -> (socket: Int32, port: UInt16) {
    let (socket, address) = bound()
    _ = listen(socket, 1)
    return (socket, UInt16(bigEndian: address.sin_port))
  }

  private static func bound() -> (Int32, sockaddr_in) {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        _ = unsafe bind(file, generic, length)
        _ = unsafe getsockname(file, generic, &length)
      }
    }
    return (file, address)
  }

  private static func answers(_ port: UInt16) -> Bool {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(file) }
    var address = loopback(port)
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe connect(file, generic, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}
