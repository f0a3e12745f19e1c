import Glibc

/// Listening sockets that systemd holds open for the program (sd_listen_fds(3)), so that a restart refuses no client.
package struct InheritedSockets: Sendable {
  private let sockets: [(descriptor: Int32, address: SocketAddress)]

  package static let none = InheritedSockets(sockets: [])

  private init(sockets: [(descriptor: Int32, address: SocketAddress)]) { self.sockets = sockets }

  /// The sockets that the environment announces to the process, the first of them at `first`.
  ///
  /// Each must listen at one of `addresses`; otherwise some setting is not what its operator thinks.
  package init(
    environment: [String: String], processID: Int32, first: Int32 = 3,
    listeningAt addresses: [SocketAddress]
  ) throws(HTTPServerError) {
    guard environment["LISTEN_PID"] == String(processID),
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), 1...Self.countMax ~= count
    else {
      self = .none
      return
    }
    var sockets: [(descriptor: Int32, address: SocketAddress)] = []
    for descriptor in first..<first + count {
      let address = SocketAddress(of: descriptor)
      guard let address, addresses.contains(where: { $0.isSame(as: address) }) else {
        throw .inheritedElsewhere(address?.description ?? "no address and port")
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      sockets.append((descriptor, address))
    }
    self.sockets = sockets
  }

  private static let countMax: Int32 = 16

  func descriptor(at address: SocketAddress) -> Int32? {
    sockets.first { $0.address.isSame(as: address) }?.descriptor
  }
}
