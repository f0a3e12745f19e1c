import Apple
import Base
import Configuration
import RecordedStories
import Stores
import Subscriptions
import Testing
import Tiers

/// An in-memory ledger of one account, fed by the verifier and the decoder.
struct AppleLedger {
  private let account: Identifier
  private let verifier: AppleVerifier
  private let catalogue: Catalogue
  private var subscriptions: [ObjectKey: Subscription] = [:]
  private var claimed: Set<ObjectKey> = []
  private var sequence: Int64 = 0

  init(of account: Identifier, root: [UInt8], bundleID: String, appAppleID: Int64) throws {
    self.account = account
    let trust = AppleTrust(roots: [root], bundleID: bundleID, appAppleID: appAppleID)
    verifier = AppleVerifier(try #require(trust))
    catalogue = try CatalogueFile.catalogue(of: RecordedStory.catalogue)
  }

  mutating func deliver(_ body: [UInt8], at now: Instant) throws {
    join(try AppleNotification(verifier.verify(body: body, now: now)).facts)
  }

  mutating func claim(_ text: String, at now: Instant) throws {
    let verified = try verifier.verify(transaction: text, now: now)
    let reading = try AppleTransactionReading(verified)
    join([reading.fact].compactMap { $0 })
    claimed.insert(reading.subscription)
  }

  private mutating func join(_ facts: [Fact]) {
    sequence += 1
    for fact in facts where fact.key.environment == .live {
      for link in fact.links where link.kind == .part {
        subscriptions[link.target, default: AppleStore().subscription(link.target)]
          .insert(fact, delivery: sequence)
      }
    }
  }

  private var owned: [(key: ObjectKey, subscription: Subscription)] {
    subscriptions.filter { key, subscription in
      let owner = subscription.ownership.account
      return owner == account || (owner == nil && claimed.contains(key))
    }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func coverage(_ subscription: Subscription) -> Coverage {
    subscription.coverage(policy: .standard, catalogue: catalogue)
  }

  func entitlement(at now: Instant) -> Schedule.Boundary {
    Schedule(owned.map { coverage($0.subscription) }, catalogue: catalogue).entry(at: now)
  }

  func label(at now: Instant) -> Label? {
    owned.first.map { $0.subscription.label(coverage($0.subscription), at: now) }
  }
}
