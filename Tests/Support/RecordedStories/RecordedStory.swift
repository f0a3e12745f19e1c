package import Base
import Crypto
import JSON
import TestFiles

/// A story under webhooks/: the deliveries about one customer, the answers to reads in the meantime, and what
/// must hold after each step.
package struct RecordedStory: Sendable, CustomStringConvertible {
  /// The story's folder, such as `stripe/2025-03-31.basil/first-purchase` or `google/renewal`.
  package let name: String
  /// The story's store: the first part of its name.
  package let store: String
  package let title: String
  /// The account that the deliveries name.
  package let account: Identifier
  /// The settings of a billing server that accepts the deliveries, by key. Paths are absolute.
  package let settings: [String: String]
  /// The store's own names of what was sold, in order of creation.
  package let subscriptions: [String]
  package let steps: [Step]

  package struct Step: Sendable {
    package let at: Instant
    /// Nil if nothing arrives.
    package let delivery: RecordedRequest?
    package let answer: Answer
    /// The JSON that the account's app posts to claim a purchase.
    package let claim: [UInt8]?
    package let deletesAccount: Bool
    /// The changed answers of the store's API from here on, by the last part of the path.
    package let reads: [String: Read]
    /// The purchases that our server must have acknowledged before the next step.
    package let acknowledges: [String]
    /// Nil once the account is deleted.
    package let expected: Expectation?
  }

  package struct Answer: Hashable, Sendable {
    package let status: Int
    /// `recorded`, `duplicate`, `conflicting`, or a problem's type.
    package let word: String

    package init(status: Int, word: String) {
      self.status = status
      self.word = word
    }
  }

  package enum Read: Sendable {
    case found([UInt8])
    case refused(status: Int)
  }

  package struct Expectation: Hashable, Sendable {
    package let capByteCount: Int64
    package let planID: String
    package let reason: String
    /// The labels of the account's subscriptions at the store, by the store's name. Empty if it has none; nil
    /// if the story states no labels.
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

  /// The deliveries that billing accepts, in the order of the story.
  package var taken: [RecordedRequest] {
    steps.filter { $0.answer.status == 200 }.compactMap(\.delivery)
  }

  /// The secret that signs the story's Stripe deliveries; nil if it has none.
  package var stripeSecret: Secret? {
    settings["COFFER_STRIPE_WEBHOOK_SECRETS"].map { Secret($0) }
  }

  /// The server's name of a subscription.
  package func key(of subscription: String) -> String {
    switch store {
    case "google": "google:live:purchase:" + Hex.encode(SHA256.hash(Array(subscription.utf8)))
    case "btcpay": "btcpay:live:prepaid:\(subscription)"
    default: "\(store):live:subscription:\(subscription)"
    }
  }

  /// The folder of the stories, each under its name.
  package static let folder = Files.repository + "/webhooks"

  /// Every story, by name. A folder with a `story.json` is found automatically.
  package static let all: [RecordedStory] = Files.paths(under: folder)
    .filter { $0.hasSuffix("/story.json") }
    .map { String($0.dropLast("/story.json".count)) }.sorted().map { RecordedStory($0) }

  package static func all(of store: String) -> [RecordedStory] { all.filter { $0.store == store } }

  /// The stories' catalogue, for `COFFER_PLANS`.
  package static let cataloguePath = folder + "/catalogue.json"
  package static var catalogue: [UInt8] { bytes("catalogue.json") }

  /// A file under webhooks/; traps if there is none.
  package static func bytes(_ path: String) -> [UInt8] {
    guard let bytes = Files.bytes("\(folder)/\(path)") else {
      preconditionFailure("cannot read webhooks/\(path)")
    }
    return bytes
  }

  private init(_ name: String) {
    self.name = name
    store = name.split(separator: "/").first.map(String.init) ?? name
    do {
      let json = try JSON.parse(Self.bytes(name + "/story.json"))
      title = try json["title"].requireString()
      account = Identifier(try json["account"].requireString())!
      var settings: [String: String] = [:]
      for (key, value) in json["settings"].members ?? [] {
        let isPath = key.hasSuffix("_FILE")
        settings[key] = (isPath ? Files.repository + "/" : "") + (try value.requireString())
      }
      self.settings = settings
      let letters = json["subscriptions"].members ?? []
      subscriptions = try letters.map { try $0.1.requireString() }
      let names = Dictionary(uniqueKeysWithValues: zip(letters.map { $0.0 }, subscriptions))
      steps = try json["steps"].requireArray().map { try Step($0, names, folder: name) }
    } catch {
      preconditionFailure("\(name): \(error)")
    }
  }
}

extension RecordedStory.Step {
  /// `names` are the story's subscriptions by their letters in the file.
  fileprivate init(_ json: JSON, _ names: [String: String], folder: String) throws {
    at = Instant(date: try json["at"].requireString())
    delivery = json["deliver"].string.map { name in
      RecordedRequest(name, RecordedStory.bytes("\(folder)/\(name)"))
    }
    answer = RecordedStory.Answer(
      status: Int(json["status"].integer ?? 200), word: json["answer"].string ?? "recorded")
    claim = json["claim"].string.map { RecordedStory.bytes("\(folder)/\($0)") }
    deletesAccount = json["delete_account"].bool ?? false
    var reads: [String: RecordedStory.Read] = [:]
    for (name, value) in json["reads"].members ?? [] {
      reads[names[name] ?? name] =
        if let file = value.string {
          .found(RecordedStory.bytes("\(folder)/\(file)"))
        } else {
          .refused(status: Int(try value.requireInteger()))
        }
    }
    self.reads = reads
    acknowledges = (json["acknowledges"].array ?? []).compactMap { $0.string.map { names[$0]! } }
    let expected = json["expect"]
    guard expected["cap"].exists else {
      self.expected = nil
      return
    }
    var labels: [String: String]?
    if let members = expected["labels"].members {
      labels = [:]
      for (letter, label) in members { labels?[names[letter]!] = try label.requireString() }
    }
    self.expected = RecordedStory.Expectation(
      capByteCount: try expected["cap"].requireInteger(),
      planID: try expected["plan"].requireString(),
      reason: try expected["reason"].requireString(), labels: labels)
  }
}
