import Apple
import Base
import BillingSimulation
import ProviderFakes
import Stores
import Subscriptions

extension StoryRun {
  init(_ story: AppleStory) throws {
    let recorder = AppleTales.record(story)
    let store = recorder.store
    let verifier = AppleTales.verifier(store)
    var parts: [Part] = []
    for delivery in store.deliveries {
      let request = store.request(for: delivery, at: delivery.emitted)
      let verified = try verifier.verify(body: request.body, now: delivery.emitted)
      parts.append(
        Part(
          at: delivery.emitted, what: .facts(try AppleNotification(verified).facts),
          name: store.type(of: delivery)))
    }
    for (decision, at) in recorder.decisions {
      switch decision {
      case .claim(let original):
        let text = store.signedTransaction(for: original)
        let verified = try verifier.verify(transaction: text, now: recorder.clock.now)
        let reading = try AppleTransactionReading(verified)
        parts.append(
          Part(at: at, what: .facts([reading.fact].compactMap { $0 }), name: "claim's transaction"))
        parts.append(
          Part(at: at, what: .claim(reading.subscription, by: recorder.account), name: "claim"))
      case .deleteAccount:
        parts.append(Part(at: at, what: .deletion(recorder.account), name: "deletion"))
      }
    }
    // Not later, because the next renewal is charged hours before its period.
    let end = recorder.clock.now
    let api = AppleTales.api(store, verifier, .fixed(end))
    self.init(
      name: "apple/\(story.name)", start: parts.map { $0.at }.min() ?? end, end: end,
      parts: parts.sorted { $0.at < $1.at },
      reread: { key in try api.record(of: key.id).facts },
      truth: { moment in
        store.truths(asOf: moment).flatMap { truth in
          (truth.paid + truth.graces).map {
            PaidPeriod(account: truth.account, productID: $0.productID, from: $0.from, to: $0.to)
          }
        }
      })
  }
}
