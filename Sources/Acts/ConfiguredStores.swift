package import Base
package import Configuration
import KnownStores
import ProviderAPI
package import Stores

extension StoreList {
  /// The configured stores, for requests by the command itself.
  package static func configured(_ settings: Settings, clock: Clock) throws -> StoreList {
    try StoreList(
      try DatabaseConfiguration.stores(settings), transport: { _ in CurlTransport() }, clock: clock)
  }
}
