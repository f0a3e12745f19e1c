import Base
import Configuration
import Crypto
import Google
import JSON
import ProviderFakes
import RecordedStories
import Stores
import Subscriptions
import Testing
import Tiers

/// The recorded reads through the ledger's own fold, without any decoder or database in between.
@Suite struct GoogleFoldTests {
  private static func digest(_ token: String) -> String {
    Hex.encode(SHA256.hash(Array(token.utf8)))
  }

  private static func key(_ kind: ObjectKey.Kind, _ id: String) -> ObjectKey {
    ObjectKey(provider: .google, partition: .live, kind: kind, id: id)
  }

  private func instant(_ json: JSON) -> Instant? {
    guard let text = json.string, let dot = text.firstIndex(where: { $0 == "." || $0 == "Z" })
    else {
      return nil
    }
    let digits = text[dot...].filter(\.isNumber)
    let whole = Instant(date: String(text[..<dot]) + "Z")
    return whole + .milliseconds(Int64((digits + "000").prefix(3)) ?? 0)
  }

  private func purchase(_ json: JSON) -> GooglePurchase {
    let items = (json["lineItems"].array ?? []).map { item in
      GooglePurchase.Item(
        productID: item["productId"].string ?? "",
        basePlanID: item["offerDetails"]["basePlanId"].string,
        expiryTime: instant(item["expiryTime"]),
        autoRenews: item["autoRenewingPlan"]["autoRenewEnabled"].bool ?? false,
        isFreeTrial: item["offerPhase"]["freeTrial"].exists,
        latestOrderID: item["latestSuccessfulOrderId"].string,
        isLeaving: item["deferredItemRemoval"].exists)
    }
    let ends = items.compactMap { $0.expiryTime }
    let state = json["subscriptionState"].string?.dropFirst("SUBSCRIPTION_STATE_".count) ?? ""
    return GooglePurchase(
      state: .init(String(state)), startTime: instant(json["startTime"]), items: items,
      replaces: json["linkedPurchaseToken"].string.map(Self.digest),
      isTest: json["testPurchase"].exists,
      ended: state == "ON_HOLD" ? ends.min() : nil)
  }

  @Test(arguments: RecordedGoogleStory.all.filter { $0.stripeSecret == nil })
  func `the fold says what the story expects`(story: RecordedGoogleStory) throws {
    let catalogue = try CatalogueFile.catalogue(of: RecordedGoogleStory.catalogue)
    var subscriptions: [String: Subscription] = [:]
    var generation: Int64 = 0
    for step in story.steps {
      generation += 1
      for (token, read) in step.reads {
        guard case .purchase(let bytes) = read else { continue }
        let content = purchase(try JSON.parse(bytes))
        let id = Self.digest(token)
        let fact = Fact(
          key: Self.key(.purchase, id), object: GoogleObject.purchase(content),
          asOf: .generation(generation))
        for place in [id, content.replaces].compactMap({ $0 }) {
          subscriptions[place, default: GoogleStore().subscription(Self.key(.purchase, place))]
            .insert(fact, source: generation)
        }
      }
      for (id, bytes) in step.orders {
        let json = try JSON.parse(bytes)
        let place = Self.digest(try json["purchaseToken"].requireString())
        let state = GoogleOrder.State(rawValue: json["state"].string ?? "") ?? .other
        let fact = Fact(
          key: Self.key(.order, id),
          object: GoogleObject.order(GoogleOrder(purchase: place, state: state)),
          asOf: .generation(generation))
        subscriptions[place]?.insert(fact, source: generation)
      }
      guard let expected = step.expected, let labels = expected.labels else { continue }
      for (token, label) in labels {
        let subscription = try #require(subscriptions[Self.digest(token)])
        let coverage = subscription.coverage(policy: .standard, catalogue: catalogue)
        #expect(
          subscription.label(coverage, at: step.at).rawValue == label, "at \(step.at)")
      }
      guard !labels.isEmpty else { continue }
      let coverages = subscriptions.values.map {
        $0.coverage(policy: .standard, catalogue: catalogue)
      }
      let entry = Schedule(coverages, catalogue: catalogue).entry(at: step.at)
      #expect(entry.planID == expected.planID, "at \(step.at)")
      #expect(entry.reason.rawValue == expected.reason, "at \(step.at)")
      #expect(entry.capByteCount == expected.capByteCount, "at \(step.at)")
    }
  }
}
