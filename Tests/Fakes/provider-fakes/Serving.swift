import Base
import Glibc
import HTTPServer
import LocalServer
import ProviderFakes

/// Serves the APIs of all stores and the control API on one port of this machine.
enum Serving {
  struct Options {
    var directory: String
    var port: UInt16 = 0
    var target: String?
    var start = Clock.system.now()

    /// `<directory> [--port N] [--push URL] [--start MILLISECONDS]`; nil: not understood.
    init?(_ arguments: [String]) {
      guard let first = arguments.first, !first.hasPrefix("-") else { return nil }
      directory = first.hasSuffix("/") ? String(first.dropLast()) : first
      var rest = arguments.dropFirst()
      while let option = rest.popFirst() {
        guard let value = rest.popFirst() else { return nil }
        switch option {
        case "--port":
          guard let port = UInt16(value) else { return nil }
          self.port = port
        case "--push": target = value.hasSuffix("/") ? String(value.dropLast()) : value
        case "--start":
          guard let start = Int64(value) else { return nil }
          self.start = Instant(milliseconds: start)
        default: return nil
        }
      }
    }
  }

  /// Prints the port once everything is written and answers come; returns at SIGINT or SIGTERM.
  static func run(_ options: Options) throws {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGINT)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    let port = try options.port == 0 ? freePort() : options.port
    let stores = Stores(
      base: "http://127.0.0.1:\(port)", start: options.start, directory: options.directory)
    try Recording(folder: options.directory, files: stores.trust).add()
    let control = Control(stores, directory: options.directory, target: options.target)
    try control.keepClock()
    let server = try startServer(
      stores.apple.routes() + stores.google.routes() + stores.stripe.routes()
        + stores.btcpay.routes() + control.routes(), port: port, name: "fakes")
    print(server.port)
    fflush(nil)
    var signal: Int32 = 0
    unsafe sigwait(&signals, &signal)
    server.drain(within: .seconds(1))
  }

  /// The stores' files name the port, so it is chosen before there is anything to serve.
  private static func freePort() throws -> UInt16 {
    let probe = try startServer([], name: "probe")
    defer { probe.drain(within: .seconds(0)) }
    return probe.port
  }
}
