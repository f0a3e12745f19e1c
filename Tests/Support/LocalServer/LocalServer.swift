package import HTTPMessages
package import HTTPServer

/// Starts a server, by default on the loopback address and a free port. It stops with its last holder.
package func startServer(
  _ routes: [Route], host: String = "127.0.0.1", port: UInt16 = 0, name: String = "test",
  limits: ServerLimits = ServerLimits(), proxies: [AddressRange] = [],
  problem: @escaping @Sendable (any Error, RequestHead) -> Problem? = { _, _ in nil }
) throws -> HTTPServer {
  let server = HTTPServer(
    listen: SocketAddress(host: host, port: port)!, routes: routes, limits: limits,
    trustedProxies: proxies, name: name, problem: problem)
  try server.start()
  return server
}
