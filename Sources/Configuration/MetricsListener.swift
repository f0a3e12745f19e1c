package import Base
package import HTTPServer

/// The address at which a program's metrics are read, and the token that permits it.
package struct MetricsListener: Sendable {
  package let address: SocketAddress
  /// The bearer token that a reader sends; nil only for a loopback address, which everyone on this
  /// machine may read.
  package let token: Secret?

  package init(_ address: SocketAddress, token: Secret? = nil) {
    self.address = address
    self.token = token
  }
}

extension SettingsReader {
  /// Nil if a setting is refused, such as an address that other machines can reach without a token.
  mutating func metricsListener() -> MetricsListener? {
    let token = value(SharedSettings.metricsToken)
    guard let address = value(SharedSettings.metricsListen) else { return nil }
    guard ClientNetwork.isLocal(address.host) || has(SharedSettings.metricsToken) else {
      refuse(
        SharedSettings.metricsListen,
        "other machines reach \(quoted(address.host)), so \(SharedSettings.metricsToken.name) is required"
      )
      return nil
    }
    return MetricsListener(address, token: token)
  }
}
