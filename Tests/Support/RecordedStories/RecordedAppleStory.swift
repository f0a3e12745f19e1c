package import Base
internal import JSON

/// A story under webhooks/apple/: what is delivered and claimed, and what holds after each step.
package struct RecordedAppleStory: Sendable, CustomStringConvertible {
  /// `failed-grace-recovery`.
  package let name: String
  package let title: String
  package let account: Identifier
  package let bundleID: String
  package let appAppleID: Int64
  /// Of the deliveries that come from Stripe; nil where none do.
  package let stripeSecret: Secret?
  package let steps: [Step]

  package struct Step: Sendable {
    package let at: Instant
    /// Nil where nothing arrives.
    package let delivery: RecordedRequest?
    package let answer: RecordedStory.Answer
    /// A signed transaction that the account's app posts.
    package let claim: String?
    package let deletesAccount: Bool
    /// Nil once the account is deleted.
    package let expected: Expectation?
  }

  package struct Expectation: Sendable {
    package let capByteCount: Int64
    package let planID: String
    package let reason: String
    /// Of the account's subscription, of several the one with the lowest id; nil while it has none.
    package let label: String?
    /// Whether anything is said of the label.
    package let tellsLabel: Bool
  }

  package var description: String { name }

  /// Every story there is, by name.
  package static let all: [RecordedAppleStory] = Repository.names(in: folder)
    .filter { $0 != "keys" && !$0.hasSuffix(".pem") }.map { RecordedAppleStory($0) }

  package static let folder = Repository.root + "/webhooks/apple"
  /// What the notifications' certificates lead to (PEM).
  package static var rootPEM: [UInt8] { Repository.bytes(of: folder + "/root.pem") }
  /// The same as `COFFER_APPLE_ROOT_FILE` has it.
  package static let rootPath = folder + "/keys/root.der"
  package static var root: [UInt8] { Repository.bytes(of: rootPath) }
  /// Leaf and intermediate (DER), and the leaf's key (PEM), for tests that sign.
  package static var leaf: [UInt8] { Repository.bytes(of: folder + "/keys/leaf.der") }
  package static var intermediate: [UInt8] {
    Repository.bytes(of: folder + "/keys/intermediate.der")
  }
  package static var leafKey: Secret { Secret(Repository.bytes(of: folder + "/keys/leaf.pem")) }
  /// The app's key for the server API (PEM).
  package static let apiKeyPath = folder + "/keys/SubscriptionKey_2X9R4HXF34.p8"

  private init(_ name: String) {
    self.name = name
    do {
      let folder = Self.folder + "/" + name
      let json = try JSON.parse(Repository.bytes(of: folder + "/story.json"))
      title = try json["title"].requireString()
      account = Identifier(try json["account"].requireString())!
      bundleID = try json["bundle_id"].requireString()
      appAppleID = try json["app_apple_id"].requireInteger()
      stripeSecret = json["stripe_secret"].string.map { Secret($0) }
      steps = try json["steps"].requireArray().map { try Step($0, folder: folder) }
    } catch {
      preconditionFailure("\(name): \(error)")
    }
  }
}

extension RecordedAppleStory.Step {
  fileprivate init(_ json: JSON, folder: String) throws {
    at = Instant(date: try json["at"].requireString())
    delivery = json["deliver"].string.map { RecordedRequest(file: folder + "/" + $0) }
    answer = RecordedStory.Answer(
      status: Int(json["status"].integer ?? 200), word: json["answer"].string ?? "recorded")
    claim = json["claim"].string.map {
      String(decoding: Repository.bytes(of: folder + "/" + $0), as: UTF8.self)
    }
    deletesAccount = json["delete_account"].bool ?? false
    let expected = json["expect"]
    self.expected =
      expected["cap"].exists
      ? RecordedAppleStory.Expectation(
        capByteCount: try expected["cap"].requireInteger(),
        planID: try expected["plan"].requireString(),
        reason: try expected["reason"].requireString(), label: expected["label"].string,
        tellsLabel: expected["label"].exists) : nil
  }
}
