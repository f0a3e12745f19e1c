package import Base
package import HTTPServer

/// Where a program's metrics are read, and by whom.
package struct MetricsListener: Sendable {
  package let address: SocketAddress
  /// The bearer token that a reader sends; nil only for an address of the loopback interface, which
  /// everybody on this machine may read.
  package let token: Secret?

  package init(_ address: SocketAddress, token: Secret? = nil) {
    self.address = address
    self.token = token
  }
}

extension SettingsReader {
  /// Nil where a setting is refused: an address that other machines reach without a token is.
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
