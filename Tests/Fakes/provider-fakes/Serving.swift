import Base
import Glibc
import HTTPServer
import LocalServer
import ProviderFakes

/// Serves the APIs of all stores and the control API on one port.
enum Serving {
  struct Options {
    var directory: String
    var listen = SocketAddress(host: "127.0.0.1", port: 0)!
    var target: String?
    /// Whether time runs by itself.
    var isRunning = false
    var start = Clock.system.now()

    /// `<directory> [--listen ADDRESS:PORT] [--push URL] [--start MILLISECONDS] [--running]`; nil: not valid.
    init?(_ arguments: [String]) {
      guard let first = arguments.first, !first.hasPrefix("-") else { return nil }
      directory = first.hasSuffix("/") ? String(first.dropLast()) : first
      var rest = arguments.dropFirst()
      while let option = rest.popFirst() {
        if option == "--running" {
          isRunning = true
          continue
        }
        guard let value = rest.popFirst() else { return nil }
        switch option {
        case "--listen":
          guard let listen = SocketAddress(value) else { return nil }
          self.listen = listen
        case "--push": target = value.hasSuffix("/") ? String(value.dropLast()) : value
        case "--start":
          guard let start = Int64(value), Self.starts.contains(start) else { return nil }
          self.start = Instant(milliseconds: start)
        default: return nil
        }
      }
    }

    /// 2000 to 2030: the stores' certificates have two-digit years and are valid for twenty years.
    private static let starts: Range<Int64> = 946_684_800_000..<1_893_456_000_000

    /// The URL at which programs on this machine reach the server.
    func base(_ port: UInt16) -> String {
      let reached =
        listen.host == "0.0.0.0" ? "127.0.0.1" : listen.host == "::" ? "::1" : listen.host
      return "http://\(SocketAddress(host: reached, port: port)!)"
    }

    var isForThisMachineAlone: Bool { listen.host.hasPrefix("127.") || listen.host == "::1" }
  }

  static func run(_ options: Options) throws {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGINT)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    // The stores' files name the port, so it is chosen before anything is served.
    let port = options.listen.port == 0 ? Ports.free() : options.listen.port
    let stores = Stores(
      base: options.base(port), start: options.start, directory: options.directory)
    try Recording(folder: options.directory, files: stores.trust).add()
    let control = Control(stores, directory: options.directory, target: options.target)
    try control.keepClock()
    let server = try startServer(
      stores.apple.routes() + stores.google.routes() + stores.stripe.routes()
        + stores.btcpay.routes() + control.routes(), host: options.listen.host, port: port,
      name: "fakes")
    if !options.isForThisMachineAlone {
      warn(
        "provider-fakes: no real stores: whoever reaches \(options.listen.host):\(port) buys without"
          + " money, moves time and has the keys' work done. For development only.\n")
    }
    if options.isRunning { control.runClock() }
    print(server.port)
    fflush(nil)
    var signal: Int32 = 0
    unsafe sigwait(&signals, &signal)
    server.drain(within: .seconds(1))
  }
}
