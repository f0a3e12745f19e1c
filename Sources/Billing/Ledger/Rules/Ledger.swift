package import Storage
package import Stores
package import Subscriptions
import Tiers

/// Records deliveries and decisions and derives everything else from them, in a storage transaction.
///
/// Any order and any repetition of the same deliveries leads to the same derived rows.
package struct Ledger: Sendable {
  package let stores: StoreList
  /// The rules as configured. Those in force may be another server's.
  package let rules: LedgerRules
  /// The stores whose API can be asked. What the objects of others need is recorded and waits.
  let readable: Set<ObjectKey.Provider>
  /// Whether apps are notified of changes; nil if the database decides.
  let tellsApps: Bool?
  let current: CurrentRules
  let currentCatalogue = CurrentCatalogue()
  let knownTerms = KnownTerms()
  let notedProofs = NotedProofs()

  package init(
    stores: StoreList, rules: LedgerRules, readable: Set<ObjectKey.Provider> = [],
    for deriver: Deriver = .server, tellsApps: Bool? = nil
  ) {
    self.tellsApps = tellsApps
    self.stores = stores
    self.rules = rules
    self.readable = readable
    current = CurrentRules(rules, for: deriver)
  }

  /// Throws a `ConfigurationError` unless the servers derive under these rules, or none ever ran.
  package func requireServersRules(reading database: some Queryable) throws {
    try current.requireServers(reading: database)
  }

  /// Whether its store can be asked about it.
  package func isReadable(_ key: ObjectKey) -> Bool {
    guard readable.contains(key.provider), let traits = stores[key.provider]?.traits else {
      return false
    }
    return !traits.hasOneEnvironment || key.environment == rules.grantingEnvironment
  }

  /// The kind of the jobs that read an object again.
  package static let readJob = "read"
}
