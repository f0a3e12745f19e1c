import Acts
import Base
package import Configuration
import KnownStores
import ProviderAPI
import Stores
import Subscriptions
import Tiers

/// Checks that the stores answer and know our keys.
extension Doctor {
  /// Sends one request to each store with a configured key, for something that it never sold.
  package static func stores(
    _ settings: Settings, _ configuration: DatabaseConfiguration
  ) throws -> [Check] {
    let stores = try StoreList.configured(settings, clock: configuration.clock)
    let asked = stores.filter { $0.isReadable }
    guard !asked.isEmpty else { return [Check("stores", .skipped, "no store's API is configured")] }
    return asked.map { ask($0, configuration.grantingEnvironment) }
  }

  private static func ask(_ store: any Store, _ environment: StoreEnvironment) -> Check {
    let (traits, name) = (store.traits, "store \(store.provider.rawValue)")
    let key = ObjectKey(
      provider: store.provider, environment: environment, kind: traits.subscriptionKind,
      id: traits.unknownID)
    let read = StoreRead(key, readNumber: 1, secret: Secret(traits.unknownID)) {
      StoreRead.Known(reasons: [], parts: [])
    }
    do throws(APIFailure) {
      _ = try store.read(read)
      return Check(name, .ok, "it answers, and knows our key")
    } catch {
      switch error {
      case .notFound, .gone, .refused:
        return Check(name, .ok, "it answers, and knows our key")
      case .transient(let reason, _):
        return Check(name, .failed, "it does not answer: \(reason)", "look at the network, or wait")
      case .misconfigured(let reason):
        return Check(
          name, .failed, "it refuses us: \(reason)",
          "give coffer-billing the store's address and a valid key")
      case .malformed(let reason):
        return Check(name, .warning, "its answer is not understood: \(reason)", "report it")
      }
    }
  }
}
