package import HTTPMessages
package import HTTPServer

/// A server on a free port of this machine, which stops with its last holder.
package func startServer(
  _ routes: [Route], name: String = "test", limits: ServerLimits = ServerLimits(),
  proxies: [AddressRange] = [],
  problem: @escaping @Sendable (any Error, RequestHead) -> Problem? = { _, _ in nil }
) throws -> HTTPServer {
  let server = HTTPServer(
    listen: SocketAddress("127.0.0.1:0")!, routes: routes, limits: limits, trustedProxies: proxies,
    name: name, problem: problem)
  try server.start()
  return server
}
