import Base
import Glibc
import TestFiles

/// A server under measurement, started on a free loopback port and ended with its owner.
@safe
final class ServerProcess {
  let port: UInt16
  private let process: pid_t
  private let log: String
  private var hasEnded = false

  /// Starts `arguments(port)` and waits until it accepts connections. Its output goes to `log`.
  init(
    log: String, environment: [String: String] = [:], _ arguments: (UInt16) -> [String],
    settings: (UInt16) -> [String: String] = { _ in [:] }
  ) throws(BenchError) {
    let port = try Self.freePort()
    self.port = port
    self.log = log
    process = try Command.spawn(
      arguments(port), environment: environment.merging(settings(port)) { $1 }, output: log)
    try waitUntilReady()
  }

  deinit { stop() }

  /// Asks the server to drain and waits for it; one that does not end is killed after 30 seconds.
  func stop() {
    guard !hasEnded else { return }
    hasEnded = true
    kill(process, SIGTERM)
    for _ in 0..<300 {
      if waitpid(process, nil, WNOHANG) == process { return }
      usleep(100_000)
    }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// Ends the server as a crash would.
  func crash() {
    guard !hasEnded else { return }
    hasEnded = true
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// User and system time of all its threads since its start.
  func processorSeconds() -> Double {
    guard let text = Files.text("/proc/\(process)/stat"), let name = text.lastIndex(of: ")")
    else { return 0 }
    let fields = text[name...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
      return 0
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Its memory according to the kernel, mapped files included.
  func residentKilobytes() -> Int { kilobytes("VmRSS") }

  /// The same without mapped files, which the kernel can reclaim.
  func ownKilobytes() -> Int { kilobytes("RssAnon") }

  /// The highest value of its memory so far.
  func peakKilobytes() -> Int { kilobytes("VmHWM") }

  private func kilobytes(_ name: String) -> Int { Self.kilobytes(name, of: process) ?? 0 }

  /// A value from the kernel's status of a process; nil once the process has ended.
  static func kilobytes(_ name: String, of process: pid_t) -> Int? {
    let lines = (Files.text("/proc/\(process)/status") ?? "").split(separator: "\n")
    let line = lines.first { $0.hasPrefix("\(name):") }
    return line.flatMap { Int($0.filter(\.isNumber)) }
  }

  /// The end of its output, for a person who must find out why it refused something.
  var lastWords: String {
    (Files.text(log) ?? "").split(separator: "\n").suffix(5).joined(separator: "\n")
  }

  private func waitUntilReady() throws(BenchError) {
    let deadline = MonotonicTime.now() + .seconds(30)
    while MonotonicTime.now() < deadline {
      if (try? Socket(port: port)) != nil { return }
      if waitpid(process, nil, WNOHANG) == process {
        hasEnded = true
        break
      }
      usleep(20_000)
    }
    throw .server("a server did not start; it said:\n\(lastWords)")
  }

  /// A port that is free at this moment.
  static func freePort() throws(BenchError) -> UInt16 {
    let (descriptor, port) = try boundSocket()
    close(descriptor)
    return port
  }

  /// A loopback socket on its own port, and that port.
  static func boundSocket() throws(BenchError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .system("socket", errno: errno) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, size) | getsockname(descriptor, $0, &size)
      }
    }
    guard code == 0 else {
      let reason = errno
      close(descriptor)
      throw .system("bind a free port", errno: reason)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }
}
