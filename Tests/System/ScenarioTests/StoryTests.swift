import Base
import Configuration
import Crypto
import JSON
import RawClient
import RecordedStories
import TestDevices
import TestEngines
import Testing

/// Every recorded story, delivered to the real programs as it stands, byte for byte.
@Suite struct StoryTests {
  /// In the short run PostgreSQL hears only what the versions of this year tell.
  private static let tellings: [(RecordedStory, TestEngine)] = RecordedStory.stripe.flatMap {
    story in
    TestEngine.available.filter { $0 == .sqlite || TestRun.isFull || story.name.hasPrefix("2026-") }
      .map { (story, $0) }
  }

  @Test(arguments: tellings)
  func `a story's caps hold for the account's writes`(
    story: RecordedStory, engine: TestEngine
  ) throws {
    let stage = try Stage(story, engine)
    for (index, step) in story.steps.enumerated() {
      try stage.play(step, place: "step \(index + 1), \(step.delivery?.name ?? "clock")")
    }
    try stage.expectExplanation()
    stage.end()
  }
}

/// Both programs, with a catalogue whose plans are small enough to be filled, and the story's
/// account with one document.
private struct Stage {
  private let story: RecordedStory
  private let directory: ScratchDirectory
  private let installation: Installation
  private let sync: Server
  private let billing: Server
  private let device: TestDevice
  private let document: Identifier

  /// What the root folder and the document are charged beside its content.
  private static let feeByteCount = 2000
  private static let capByteCounts = ["free": 20_000, "premium": 50_000]
  /// What comes on top, and what it is in the stories.
  private static let extraByteCount = 7000
  private static let toldExtra: Int64 = 2_000_000_000

  init(_ story: RecordedStory, _ engine: TestEngine) throws {
    self.story = story
    directory = try ScratchDirectory()
    let catalogue = directory.path + "/catalogue.json"
    let text = String(decoding: RecordedStory.catalogue, as: UTF8.self)
      .replacing("\"bytes\": 1000000,", with: "\"bytes\": 20000,")
      .replacing("\"bytes\": 1000000\n", with: "\"bytes\": 20000\n")
      .replacing("\"bytes\": 30000000000", with: "\"bytes\": 50000")
      .replacing("\"bytes\": \(Self.toldExtra)", with: "\"bytes\": \(Self.extraByteCount)")
    try TextFile.write(text, to: catalogue)
    installation = try Installation(
      engine, startingAt: try #require(story.steps.first).at,
      settings: [
        "COFFER_PLANS": catalogue,
        "COFFER_STRIPE_WEBHOOK_SECRETS": String(decoding: story.secret.exposed, as: UTF8.self),
      ])
    sync = try installation.start(.sync)
    billing = try installation.start(.billing)
    let key = Ed25519PrivateKey()
    let created = try installation.command(
      "account", "create", "--id", story.account.description, "--public-key",
      Base64.standard.encode(key.publicKey.bytes), "--json")
    guard created.end == .exited(0),
      let root = Identifier(try JSON.parse(Array(created.output.utf8))["root"].string ?? "")
    else { throw ScenarioError(created.output) }
    device = installation.device(of: sync, key: key, root: root)
    let file = try device.create()
    guard file.answer.status == 200 else { throw UnexpectedAnswer(file.answer) }
    document = file.id
  }

  /// Moves the clock, delivers, and fills the account to its cap and not a byte further.
  func play(_ step: RecordedStory.Step, place: String) throws {
    try installation.clock.set(step.at)
    if let request = step.delivery {
      let answer = try billing.exchange(request.bytes)
      let json = try JSON.parse(answer.body)
      let word = json["status"].string ?? json["type"].string ?? ""
      #expect(answer.status == step.answer.status, "\(place)")
      #expect(word.hasSuffix(step.answer.word), "\(place): \(word)")
    }
    let hasExtra = step.expected.capByteCount % 30_000_000_000 == Self.toldExtra
    let cap =
      try #require(Self.capByteCounts[step.expected.planID], "\(place)")
      + (hasExtra ? Self.extraByteCount : 0)
    let account = try device.get("/v1/account").json
    #expect(account["cap"].integer == Int64(cap), "\(place)")
    #expect(account["plan"].string == step.expected.planID, "\(place)")
    #expect(account["reason"].string == step.expected.reason, "\(place)")
    let room = cap - Self.feeByteCount
    let fitting = try device.put(document, [UInt8](repeating: 1, count: room), ifMatch: "*")
    #expect(fitting.status == 200, "\(place)")
    let refused = try device.put(document, [UInt8](repeating: 2, count: room + 1), ifMatch: "*")
    try expectOverCap(refused, cap: cap, step, place)
  }

  private func expectOverCap(
    _ answer: Answer, cap: Int, _ step: RecordedStory.Step, _ place: String
  ) throws {
    #expect(answer.status == 507, "\(place)")
    #expect(try answer.problem == "over_cap", "\(place)")
    let json = try answer.json
    #expect(json["owner"].string == story.account.description, "\(place)")
    #expect(json["usage"].integer == Int64(cap), "\(place)")
    #expect(json["cap"].integer == Int64(cap), "\(place)")
    #expect(json["needed"].integer == Int64(cap + 1), "\(place)")
    #expect(json["reason"].string == step.expected.reason, "\(place)")
    let fitting = json["plans"].array?.compactMap { $0["id"].string ?? $0.string }
    let larger = ["free": ["extra", "premium", "plus"], "premium": ["extra", "plus"]]
    #expect(fitting == larger[step.expected.planID] ?? [], "\(place)")
  }

  /// The operator's command tells the same at the end.
  func expectExplanation() throws {
    let step = try #require(story.steps.last)
    let answer = try installation.command(
      "entitlement", "explain", story.account.description, "--json")
    #expect(answer.end == .exited(0))
    let json = try JSON.parse(Array(answer.output.utf8))
    #expect(json["current"]["plan"].string == step.expected.planID)
    #expect(json["current"]["reason"].string == step.expected.reason)
    #expect(json["subscriptions"][0]["label"].string == step.expected.label)
  }

  func end() {
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
  }
}
