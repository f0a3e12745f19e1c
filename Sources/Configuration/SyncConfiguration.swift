package import Base
package import HTTPServer
package import Storage
package import Tiers

/// What `coffer-sync` needs, checked.
package struct SyncConfiguration: Sendable {
  package let database: DatabaseLocation
  package let objectsDirectory: String
  package let listen: SocketAddress
  package let metricsListen: SocketAddress
  /// In lower case; never empty.
  package let authorities: Set<String>
  package let trustedProxies: [AddressRange]
  package let catalogue: Catalogue
  package let clock: Clock

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .sync)
    let database = reader.database()
    let objectsDirectory = reader.objectsDirectory()
    let listen = reader.address(.syncListen)
    let metricsListen = reader.metricsAddress(fallback: "127.0.0.1:9464")
    let authorities = reader.authorities(.syncAuthorities)
    trustedProxies = reader.trustedProxies()
    let catalogue = reader.catalogue()
    clock = reader.clock()
    guard let database, let objectsDirectory, let listen, let metricsListen, let authorities,
      let catalogue, reader.problems.isEmpty
    else { throw ConfigurationError(reader.problems) }
    self.database = database
    self.objectsDirectory = objectsDirectory
    self.listen = listen
    self.metricsListen = metricsListen
    self.authorities = Set(authorities)
    self.catalogue = catalogue
  }
}
