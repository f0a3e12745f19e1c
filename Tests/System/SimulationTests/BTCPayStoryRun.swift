import BTCPay
import Base
import BillingSimulation
import ProviderFakes
import Stores
import Subscriptions

extension StoryRun {
  /// The content of a story's deliveries, and the reads that they request, each with its own number.
  init(_ story: BTCPayStory) throws {
    let recorder = story.record()
    let (store, end) = (recorder.store, recorder.clock.now + .hours(2))
    let moment = Locked(recorder.clock.now)
    let btcpay = PastBTCPay(store: store) { moment.withLock { $0 } }.asStore
    let count = Locked<Int64>(0)
    @Sendable func read(_ key: ObjectKey, at now: Instant) throws -> [Fact] {
      moment.withLock { $0 = now }
      let number = count.withLock { count in
        count += 1
        return count
      }
      let request = StoreRead(key, readNumber: number, secret: nil) {
        StoreRead.Known(reasons: [], parts: [])
      }
      return try btcpay.read(request).facts
    }
    guard let secrets = BTCPaySecrets([store.settings.secret]) else {
      preconditionFailure("the fake has no secret")
    }
    var parts: [Part] = []
    for delivery in store.deliveries {
      let request = store.request(for: delivery, at: delivery.emitted)
      let verified = try secrets.verify(
        headers: [Array((request.header("btcpay-sig") ?? "").utf8)], body: request.body)
      let delivered = DecodedDelivery(try BTCPayEvent(verified, store: store.settings.storeID))
      let name = store.type(of: delivery)
      if !delivered.facts.isEmpty {
        parts.append(Part(at: delivery.emitted, what: .facts(delivered.facts), name: name))
      }
      for request in delivered.requests {
        let at = delivery.emitted
        parts.append(
          Part(at: at, what: .facts(try read(request.object, at: at)), name: "read after \(name)"))
      }
    }
    self.init(
      name: "btcpay/\(story.name)", start: parts.map { $0.at }.min() ?? end, end: end,
      parts: parts.sorted { $0.at < $1.at },
      reread: { key in try read(key, at: end) },
      truth: { moment in
        store.accounts.flatMap { account in
          store.truths(of: account, asOf: moment).map {
            PaidPeriod(
              account: account, productID: $0.product.itemCode, from: $0.from, to: $0.to)
          }
        }
      })
    // Only an invoice's own delivery shows when it settled.
    irreparable = Set(
      self.parts.indices.filter { index in
        guard case .facts(let facts) = self.parts[index].what else { return false }
        return facts.contains { $0.key.kind == .settlement }
      })
  }
}
