package import Base
internal import Glibc
internal import JSON

/// A story under webhooks/: what a provider delivers of one customer, and what holds after each step.
package struct RecordedStory: Sendable, CustomStringConvertible {
  /// `2025-03-31.basil/first-purchase`.
  package let name: String
  package let title: String
  /// The account that the payloads' metadata names.
  package let account: Identifier
  /// What its deliveries are signed with; of no real endpoint.
  package let secret: Secret
  package let steps: [Step]

  package struct Step: Sendable {
    package let at: Instant
    /// Nil where only the clock moves.
    package let delivery: RecordedRequest?
    package let answer: Answer
    package let expected: Expectation
  }

  package struct Answer: Hashable, Sendable {
    package let status: Int
    /// `recorded`, `duplicate`, `conflicting`, or the type of a problem.
    package let word: String

    package init(status: Int, word: String) {
      self.status = status
      self.word = word
    }
  }

  package struct Expectation: Hashable, Sendable {
    package let capByteCount: Int64
    package let planID: String
    package let reason: String
    /// Of the account's subscription, of several the one with the lowest id; nil while it has none.
    package let label: String?

    package init(capByteCount: Int64, planID: String, reason: String, label: String?) {
      self.capByteCount = capByteCount
      self.planID = planID
      self.reason = reason
      self.label = label
    }
  }

  package var description: String { name }

  /// The deliveries that billing takes, in the order of the story.
  package var taken: [RecordedRequest] {
    steps.filter { $0.answer.status == 200 }.compactMap(\.delivery)
  }

  /// Every story there is, by name; a folder with a `story.json` is found by itself.
  package static let stripe: [RecordedStory] = Repository.names(in: folder).flatMap { version in
    Repository.names(in: "\(folder)/\(version)").map { "\(version)/\($0)" }
  }.map { RecordedStory($0, folder: "\(folder)/\($0)") }

  /// Where they are kept, each under its name.
  package static let folder = Repository.root + "/webhooks/stripe"

  /// The catalogue that the stories are about, as `COFFER_PLANS` has it.
  package static let cataloguePath = Repository.root + "/webhooks/catalogue.json"
  package static var catalogue: [UInt8] { Repository.bytes(of: cataloguePath) }

  private init(_ name: String, folder: String) {
    self.name = name
    do {
      let json = try JSON.parse(Repository.bytes(of: folder + "/story.json"))
      title = try json["title"].requireString()
      account = Identifier(try json["account"].requireString())!
      secret = Secret(try json["secret"].requireString())
      steps = try json["steps"].requireArray().map { try Step($0, folder: folder) }
    } catch {
      preconditionFailure("\(name): \(error)")
    }
  }
}

extension RecordedStory.Step {
  fileprivate init(_ json: JSON, folder: String) throws {
    at = Instant(date: try json["at"].requireString())
    delivery =
      try json["deliver"].exists
      ? RecordedRequest(file: folder + "/" + json["deliver"].requireString()) : nil
    answer = RecordedStory.Answer(
      status: Int(json["status"].integer ?? 200), word: json["answer"].string ?? "recorded")
    let expected = json["expect"]
    self.expected = RecordedStory.Expectation(
      capByteCount: try expected["cap"].requireInteger(),
      planID: try expected["plan"].requireString(),
      reason: try expected["reason"].requireString(), label: expected["label"].string)
  }
}

extension Instant {
  /// `2026-03-02T10:00:06Z`, checked by the way back.
  package init(date text: String) {
    let parts = text.split { !$0.isNumber }.map { Int32($0) ?? 0 }
    precondition(parts.count == 6, "\(text) is no moment")
    var date = unsafe tm()
    unsafe date.tm_year = parts[0] - 1900
    unsafe date.tm_mon = parts[1] - 1
    unsafe date.tm_mday = parts[2]
    unsafe date.tm_hour = parts[3]
    unsafe date.tm_min = parts[4]
    unsafe date.tm_sec = parts[5]
    self.init(seconds: Int64(unsafe timegm(&date)))
    precondition(description == text, "\(text) is no moment")
  }
}
