package import BTCPay
package import Base
import KnownStores
package import ProviderAPI
package import ProviderFakes
import Stores

/// A BTCPay server's API as it was at the time of an installation's clock.
package struct PastBTCPay: ProviderTransport {
  private static let base = "https://btcpay.fake"

  private let store: FakeBTCPay
  private let now: @Sendable () -> Instant

  package init(store: FakeBTCPay, now: @escaping @Sendable () -> Instant) {
    self.store = store
    self.now = now
  }

  package func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let store = store
    let now = now
    return try FakeTransport(base: Self.base) { store.answer($0, asOf: now()) }.send(request)
  }

  private func api() -> BTCPayAPI {
    BTCPayAPI(
      base: Self.base, store: store.settings.storeID, key: store.settings.apiKey, transport: self)
  }

  package var asStore: BTCPayStore {
    BTCPayStore(secrets: BTCPaySecrets([store.settings.secret]), api: api())
  }
}

extension Live {
  package init(_ story: BTCPayStory) {
    let recorder = story.record()
    let store = recorder.store
    let events = store.deliveries.map { delivery in
      Event(at: delivery.emitted, what: .delivery({ store.request(for: delivery, at: $0) }))
    }
    self.init(
      name: "btcpay/\(story.name)", events: events,
      stores: { clock in
        StoreList.known(with: PastBTCPay(store: store) { clock.now() }.asStore)
      }, end: recorder.clock.now + .minutes(10), faults: [store.faults])
    irreparable = Set(
      store.deliveries.indices.filter { store.type(of: store.deliveries[$0]) == "InvoiceSettled" })
  }
}
