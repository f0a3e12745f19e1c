package import Base
import JSON
package import ProviderAPI
package import Stores
import Subscriptions
package import Tiers

/// Reads from the App Store Server API, and sends extensions and consumption reports.
///
/// Every call blocks. The transport bounds each request in time and size, and each answer here is bounded in
/// requests. Any thread may call it. https://developer.apple.com/documentation/appstoreserverapi
package struct AppleAPI: Sendable {
  let base: String
  let environment: StoreEnvironment
  let key: AppleAPIKey
  let verifier: AppleVerifier
  let transport: any ProviderTransport
  let clock: Clock

  /// `base` belongs to the environment and has no slash at its end.
  package init(
    base: String, environment: StoreEnvironment, key: AppleAPIKey, verifier: AppleVerifier,
    transport: any ProviderTransport, clock: Clock
  ) {
    self.base = base
    self.environment = environment
    self.key = key
    self.verifier = verifier
    self.transport = transport
    self.clock = clock
  }

  /// Reads all subscriptions of the customer who has this one. `id` is that of any transaction of it, and
  /// `.notFound` also in the other environment's API.
  package func record(of id: String) throws(APIFailure) -> StoreAnswer {
    var reading = AppleReading(self)
    try reading.readStatuses(id)
    do {
      try reading.readHistory(id)
    } catch .notFound {
      throw .refused(status: 404, "a subscription has a status but no history")
    }
    return reading.answer
  }
}

extension StoreAnswer {
  mutating func add(_ decoder: AppleDecoder) {
    facts += decoder.facts
    terms += decoder.terms
    notes.formUnion(decoder.notes.map(\.rawValue))
  }
}
