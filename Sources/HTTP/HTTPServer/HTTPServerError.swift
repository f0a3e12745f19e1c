/// Why a server could not start; each case's description is a sentence for the operator.
package enum HTTPServerError: Error, Equatable, CustomStringConvertible {
  case addressInUse(SocketAddress)
  case cannotListen(SocketAddress, reason: String)
  case noWorkers

  package var description: String {
    switch self {
    case .addressInUse(let address): "address \(address) is already in use"
    case .cannotListen(let address, let reason): "cannot listen on \(address): \(reason)"
    case .noWorkers: "libmicrohttpd could not start its worker threads"
    }
  }
}
