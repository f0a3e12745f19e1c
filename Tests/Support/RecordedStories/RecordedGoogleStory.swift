package import Base
internal import JSON

/// A story under webhooks/google/: what is pushed, what reads answer meanwhile, what then holds.
package struct RecordedGoogleStory: Sendable, CustomStringConvertible {
  /// `failed-grace-recovery`.
  package let name: String
  package let title: String
  package let account: Identifier
  package let packageName: String
  package let audience: String
  package let email: String
  package let subscription: String
  /// Of the deliveries that come from Stripe; nil where none do.
  package let stripeSecret: Secret?
  /// Purchase tokens by their letters.
  package let tokens: [String: String]
  package let steps: [Step]

  package struct Step: Sendable {
    package let at: Instant
    /// Nil where nothing arrives.
    package let delivery: RecordedRequest?
    package let answer: RecordedStory.Answer
    /// A purchase token that the account's app posts.
    package let claim: String?
    package let deletesAccount: Bool
    /// What `purchases.subscriptionsv2.get` answers from here on, by token: those that changed.
    package let reads: [String: Read]
    /// What `orders.get` answers from here on, by order id: those that changed.
    package let orders: [String: [UInt8]]
    /// The tokens that our server must have acknowledged before the next step.
    package let acknowledges: [String]
    /// Nil once the account is deleted.
    package let expected: Expectation?
  }

  package enum Read: Sendable {
    case purchase([UInt8])
    case refused(status: Int)
  }

  package struct Expectation: Hashable, Sendable {
    package let capByteCount: Int64
    package let planID: String
    package let reason: String
    /// By token, of the purchases that the account owns; nil where nothing is said of labels.
    package let labels: [String: String]?

    package init(
      capByteCount: Int64, planID: String, reason: String, labels: [String: String]?
    ) {
      self.capByteCount = capByteCount
      self.planID = planID
      self.reason = reason
      self.labels = labels
    }
  }

  package var description: String { name }

  /// Every story there is, by name.
  package static let all: [RecordedGoogleStory] = Repository.names(in: folder)
    .filter { $0 != "keys" && $0 != "catalogue.json" }.map { RecordedGoogleStory($0) }

  package static let folder = Repository.root + "/webhooks/google"
  /// The catalogue that the stories are about, as `COFFER_PLANS` has it.
  package static let cataloguePath = folder + "/catalogue.json"
  package static var catalogue: [UInt8] { Repository.bytes(of: cataloguePath) }
  /// The key set of the tokens' issuer.
  package static var keySet: [UInt8] { Repository.bytes(of: folder + "/keys/jwks.json") }
  package static let serviceAccountPath = folder + "/keys/service-account.json"
  package static var serviceAccount: [UInt8] { Repository.bytes(of: serviceAccountPath) }
  /// The private halves: for tests that need tokens or assertions of their own.
  package static var issuerKey: Secret { Secret(Repository.bytes(of: folder + "/keys/issuer.pem")) }
  package static var serviceKey: Secret {
    Secret(Repository.bytes(of: folder + "/keys/service.pem"))
  }

  private init(_ name: String) {
    self.name = name
    do {
      let folder = Self.folder + "/" + name
      let json = try JSON.parse(Repository.bytes(of: folder + "/story.json"))
      title = try json["title"].requireString()
      account = Identifier(try json["account"].requireString())!
      packageName = try json["package"].requireString()
      audience = try json["audience"].requireString()
      email = try json["email"].requireString()
      subscription = try json["subscription"].requireString()
      stripeSecret = json["stripe_secret"].string.map { Secret($0) }
      var tokens: [String: String] = [:]
      for (letter, token) in json["tokens"].members ?? [] {
        tokens[letter] = try token.requireString()
      }
      self.tokens = tokens
      steps = try json["steps"].requireArray().map { try Step($0, tokens, folder: folder) }
    } catch {
      preconditionFailure("\(name): \(error)")
    }
  }
}

extension RecordedGoogleStory.Step {
  fileprivate init(_ json: JSON, _ tokens: [String: String], folder: String) throws {
    at = Instant(date: try json["at"].requireString())
    delivery = json["deliver"].string.map { RecordedRequest(file: folder + "/" + $0) }
    answer = RecordedStory.Answer(
      status: Int(json["status"].integer ?? 200), word: json["answer"].string ?? "recorded")
    claim = json["claim"].string.map { tokens[$0]! }
    deletesAccount = json["delete_account"].bool ?? false
    var reads: [String: RecordedGoogleStory.Read] = [:]
    for (letter, value) in json["reads"].members ?? [] {
      reads[tokens[letter]!] =
        if let file = value.string {
          .purchase(Repository.bytes(of: folder + "/" + file))
        } else {
          .refused(status: Int(try value.requireInteger()))
        }
    }
    self.reads = reads
    var orders: [String: [UInt8]] = [:]
    for (id, file) in json["orders"].members ?? [] {
      orders[id] = Repository.bytes(of: folder + "/" + (try file.requireString()))
    }
    self.orders = orders
    acknowledges = (json["acknowledges"].array ?? []).compactMap { $0.string.map { tokens[$0]! } }
    expected = try Self.expectation(json["expect"], tokens)
  }

  private static func expectation(
    _ json: JSON, _ tokens: [String: String]
  ) throws -> RecordedGoogleStory.Expectation? {
    guard json["cap"].exists else { return nil }
    var labels: [String: String]?
    if let several = json["labels"].members {
      labels = [:]
      for (letter, label) in several { labels?[tokens[letter]!] = try label.requireString() }
    } else if let label = json["label"].string {
      labels = [tokens.min { $0.key < $1.key }!.value: label]
    } else if json["label"].exists {
      labels = [:]
    }
    return RecordedGoogleStory.Expectation(
      capByteCount: try json["cap"].requireInteger(), planID: try json["plan"].requireString(),
      reason: try json["reason"].requireString(), labels: labels)
  }
}
