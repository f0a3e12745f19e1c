import Base
import BillingSimulation
import Google
import JSON
import ProviderAPI
import ProviderFakes
import Stores
import Subscriptions

extension StoryRun {
  /// The reads that a story's notifications request, each with its own number.
  init(_ story: GoogleStory) throws {
    let recorder = GoogleTales.record(story)
    let moment = Locked(recorder.clock.now)
    let api = GoogleTales.api(recorder.store, Clock { moment.withLock { $0 } })
    var readNumbers: [PurchaseToken: Int64] = [:]
    var parts: [Part] = []
    func read(_ token: PurchaseToken, at now: Instant, _ name: String) throws {
      readNumbers[token, default: 0] += 1
      moment.withLock { $0 = now }
      let answer = try api.read(token: token, readNumber: readNumbers[token]!)
      parts.append(Part(at: now, what: .facts(answer.facts), name: name))
    }
    var happenings: [(at: Instant, what: () throws -> Void)] = []
    for delivery in recorder.store.deliveries {
      let body = recorder.store.request(for: delivery, at: delivery.emitted).body
      guard let token = Self.token(of: body) else { continue }
      // A read after the notification, and the read that confirms it.
      for at in [delivery.emitted + .seconds(2), delivery.emitted + .seconds(62)] {
        happenings.append((at, { try read(token, at: at, recorder.store.type(of: delivery)) }))
      }
    }
    for (decision, at) in recorder.decisions {
      happenings.append(
        (
          at,
          {
            switch decision {
            case .claim(let text):
              guard let token = PurchaseToken(text) else { return }
              try read(token, at: at, "claim's read")
              parts.append(
                Part(at: at, what: .claim(token.objectKey, by: recorder.account), name: "claim"))
            case .deleteAccount:
              parts.append(Part(at: at, what: .deletion(recorder.account), name: "deletion"))
            }
          }
        ))
    }
    for happening in happenings.sorted(by: { $0.at < $1.at }) { try happening.what() }
    let end = recorder.clock.now + .hours(2)
    let known = readNumbers
    self.init(
      name: "google/\(story.name)", start: parts.map { $0.at }.min() ?? end, end: end,
      parts: parts,
      reread: { key in
        guard let (token, readNumber) = known.first(where: { $0.key.objectKey == key }) else {
          return []
        }
        moment.withLock { $0 = end }
        // Sixty days after its end a purchase cannot be read. The last read still holds.
        let read = Result { () throws(APIFailure) in
          try api.read(token: token, readNumber: readNumber + 1).facts
        }
        return if case .failure(.gone) = read { [] } else { try read.get() }
      },
      truth: { _ in [] })
  }

  private static func token(of body: [UInt8]) -> PurchaseToken? {
    guard let envelope = try? JSON.parse(body),
      let data = envelope["message"]["data"].string.flatMap({ Base64.standard.decode($0) }),
      let json = try? JSON.parse(data)
    else { return nil }
    let text =
      json["subscriptionNotification"]["purchaseToken"].string
      ?? json["voidedPurchaseNotification"]["purchaseToken"].string
    return text.flatMap { PurchaseToken($0) }
  }
}
