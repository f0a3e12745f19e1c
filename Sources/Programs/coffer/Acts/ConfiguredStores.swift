internal import Base
internal import CommandLine
internal import Configuration
internal import KnownStores
internal import ProviderAPI
internal import Stores

extension StoreList {
  /// As they are configured, to be asked by this command itself.
  static func configured(_ settings: Settings, clock: Clock) throws -> StoreList {
    try StoreList(
      try DatabaseConfiguration.stores(settings), transport: { _ in CurlTransport() }, clock: clock)
  }
}
