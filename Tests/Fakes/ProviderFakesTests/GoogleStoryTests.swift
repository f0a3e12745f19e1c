import Base
import Crypto
import JSON
import JWS
import ProviderFakes
import RecordedStories
import Testing

/// The recorded stories, checked against the key set, the rules for reads, and the fake's truth.
@Suite struct GoogleStoryTests {
  private static let recorded = RecordedStory.all(of: "google")

  @Test func `what is recorded is what is told, byte for byte`() throws {
    let issuer = try #require(RSAPrivateKey(pem: StoryKeys.googleIssuerKey))
    let service = try #require(RSAPrivateKey(pem: StoryKeys.googleServiceKey))
    #expect(Self.recorded.map(\.name) == GoogleStory.all.map { "google/\($0.name)" }.sorted())
    for story in GoogleStory.all {
      let recorder = story.record(key: issuer, serviceKey: service.publicKey)
      let told = recorder.files.filter { $0.name.hasSuffix(".http") }
      let recorded = Self.recorded.first { $0.name == "google/\(story.name)" }
      let requests = (recorded?.steps ?? []).compactMap(\.delivery)
      #expect(requests.map(\.name) == told.map(\.name), "\(story)")
      #expect(zip(requests, told).allSatisfy { $0.bytes == $1.bytes }, "\(story)")
    }
  }

  @Test(arguments: Self.recorded)
  func `every push verifies with the key set at its step's time`(story: RecordedStory) throws {
    let keys = try JSON.parse(StoryKeys.googleKeySet)["keys"]
    let modulus = try #require(keys[0]["n"].string.flatMap(Base64.url.decode))
    let exponent = try #require(keys[0]["e"].string.flatMap(Base64.url.decode))
    let key = try #require(RSAPublicKey(modulus: modulus, exponent: exponent))
    for step in story.steps {
      guard let delivery = step.delivery, delivery.store == "google" else { continue }
      let field = try #require(delivery.header("Authorization"))
      let jws = try CompactJWS(Array(field.dropFirst(7).utf8))
      #expect(jws.header["kid"].string == keys[0]["kid"].string)
      #expect(key.isValid(signature: jws.signature, for: jws.signingInput))
      let claims = try JSON.parse(jws.payload)
      #expect(claims["iat"].integer == step.at.seconds)
      #expect(claims["aud"].string == story.settings["COFFER_GOOGLE_PUSH_AUDIENCE"])
      #expect(claims["email"].string == story.settings["COFFER_GOOGLE_PUSH_EMAIL"])
      #expect(delivery.header("Content-Length") == String(delivery.body.count))
    }
  }

  @Test(arguments: Self.recorded)
  func `every purchase that is told of can be read at that step`(story: RecordedStory) throws {
    var readable: Set<String> = []
    for step in story.steps {
      for (token, read) in step.reads {
        readable.insert(token)
        guard case .found(let bytes) = read, story.subscriptions.contains(token) else { continue }
        let json = try JSON.parse(bytes)
        #expect(json["kind"].string == "androidpublisher#subscriptionPurchaseV2")
        if let linked = json["linkedPurchaseToken"].string { #expect(readable.contains(linked)) }
      }
      guard let delivery = step.delivery, delivery.store == "google" else { continue }
      let data = try JSON.parse(delivery.body)["message"]["data"].string
      let inner = try JSON.parse(try #require(data.flatMap(Base64.standard.decode)))
      if let token = inner["subscriptionNotification"]["purchaseToken"].string {
        #expect(readable.contains(token), "\(delivery.name)")
      }
    }
  }

  /// The stories' expectations follow our policy. They may add only leeway to the truth.
  @Test func `what is expected is what the store owes, and at most leeway beyond`() throws {
    let issuer = RSAPrivateKey()
    // Money from another store, and a deleted account.
    let others = ["platform-switch", "account-deleted"]
    for story in GoogleStory.all where !others.contains(story.name) {
      let recorder = story.record(key: issuer, serviceKey: issuer.publicKey)
      let owner = recorder.account
      let recorded = try #require(Self.recorded.first { $0.name == "google/\(story.name)" })
      let truths = recorder.store.truths.filter { $0.account == owner }
      // A claim may come minutes after the sale, and production owes a tester nothing.
      let known =
        recorded.steps.firstIndex { $0.expected?.planID != "free" } ?? recorded.steps.count
      for step in recorded.steps[known...] {
        guard let expected = step.expected, expected.reason != "leeway" else { continue }
        let owed = ["premium", "plus"].filter { product in
          truths.contains { $0.isOwed(product, at: step.at) }
        }
        #expect(
          owed.contains(expected.planID) || (owed.isEmpty && expected.planID == "free"),
          "\(story) at \(step.at): owed \(owed), expected \(expected.planID)")
      }
    }
  }
}
