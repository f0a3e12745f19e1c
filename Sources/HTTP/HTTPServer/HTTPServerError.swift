/// The reason why a server could not start; each case's description is a sentence for the operator.
package enum HTTPServerError: Error, Equatable, CustomStringConvertible {
  case addressInUse(SocketAddress)
  case cannotListen(SocketAddress, reason: String)
  case noWorkers
  case inheritedElsewhere(String)

  package var description: String {
    switch self {
    case .addressInUse(let address): "address \(address) is already in use"
    case .cannotListen(let address, let reason): "cannot listen on \(address): \(reason)"
    case .inheritedElsewhere(let place):
      "a socket was handed over that listens on \(place), where no setting has the program listen; "
        + "name the same address in the .socket unit and in the settings"
    case .noWorkers: "libmicrohttpd could not start its worker threads"
    }
  }
}
