import Base
import Configuration
import Crypto
import Glibc
import JSON
import RawClient
import RecordedStories
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Every recorded story, delivered to the real programs unchanged, byte for byte.
@Suite struct StoryTests {
  /// In the short run every fifth story, by turns on the engines. Another test checks for each story, without
  /// the programs, that both engines end with the same rows.
  private static let told = RecordedStory.all.enumerated().filter { index, _ in
    TestRun.isFull || index % 5 == 0
  }.map(\.element)

  @Test(arguments: TestEngine.byTurns(told))
  func `a story's caps hold for the account's writes`(
    story: RecordedStory, engine: TestEngine
  ) throws {
    let stage = try Stage(story, engine)
    for (index, step) in story.steps.enumerated() {
      try stage.play(step, place: "step \(index + 1), \(step.delivery?.name ?? "clock")")
    }
    stage.end()
  }
}

/// Both programs, a store's API with the recorded answers, a catalogue whose plans are small enough to fill,
/// and the story's account with one document.
private struct Stage {
  private let story: RecordedStory
  private let api: RecordedServer
  private let directory: ScratchDirectory
  private let installation: Installation
  private let sync: Server
  private let billing: Server
  private let device: TestDevice
  private let claimant: TestDevice
  private let document: Identifier

  private static let authority = "billing.coffer.test"
  /// Reads happen in the background. A sanitizer's build and a busy machine are slow.
  private static let patience = Instant.Span.seconds(30)
  /// The fees of the root folder and the document.
  private static let feeByteCount = 2000
  /// By plan: the bytes in the stories, and the bytes here.
  private static let caps: [String: (told: Int64, here: Int64)] = [
    "free": (1_000_000, 20_000), "premium": (30_000_000_000, 50_000),
    "plus": (200_000_000_000, 90_000), "extra": (2_000_000_000, 7000),
  ]

  init(_ story: RecordedStory, _ engine: TestEngine) throws {
    self.story = story
    api = try RecordedServer(story.settings["COFFER_GOOGLE_PACKAGE"] ?? "none")
    directory = try ScratchDirectory()
    installation = try Installation(
      engine, startingAt: try #require(story.steps.first).at,
      settings: try Self.settings(story, api, directory.path))
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
    let clock = installation.clock
    claimant = TestDevice(
      port: billing.port, authority: Self.authority, key: key, root: Random.identifier()
    ) { clock.now() }
    let file = try device.create()
    guard file.answer.status == 200 else { throw UnexpectedAnswer(file.answer) }
    document = file.id
  }

  /// The story's own settings, with this test's plans and API.
  private static func settings(
    _ story: RecordedStory, _ api: RecordedServer, _ directory: String
  ) throws -> [String: String] {
    var catalogue = String(decoding: RecordedStory.catalogue, as: UTF8.self)
    for (told, here) in caps.values {
      catalogue = catalogue.replacing("\"bytes\": \(told),", with: "\"bytes\": \(here),")
        .replacing("\"bytes\": \(told)\n", with: "\"bytes\": \(here)\n")
    }
    try Files.write(catalogue, to: directory + "/catalogue.json")
    var settings = story.settings
    settings["COFFER_PLANS"] = directory + "/catalogue.json"
    settings["COFFER_BILLING_AUTHORITIES"] = authority
    if let path = settings["COFFER_GOOGLE_SERVICE_ACCOUNT_FILE"] {
      let keyFile = directory + "/service-account.json"
      let text = try #require(Files.text(path))
      try Files.write(
        text.replacing("https://oauth2.googleapis.com/token", with: api.url + "/token"),
        to: keyFile, isSecret: true)
      settings["COFFER_GOOGLE_SERVICE_ACCOUNT_FILE"] = keyFile
      settings["COFFER_GOOGLE_API_URL"] = api.url
      settings["COFFER_GOOGLE_KEYS_URL"] = api.url + "/certs"
    }
    if settings["COFFER_BTCPAY_URL"] != nil { settings["COFFER_BTCPAY_URL"] = api.url }
    return settings
  }

  /// Moves the clock, delivers, and fills the account exactly to its cap.
  func play(_ step: RecordedStory.Step, place: String) throws {
    try installation.clock.set(step.at)
    api.show(step)
    if let request = step.delivery {
      let answer = try billing.exchange(request.bytes)
      let json = try JSON.parse(answer.body)
      let word = json["status"].string ?? json["type"].string ?? ""
      #expect(answer.status == step.answer.status, "\(place)")
      #expect(word.hasSuffix(step.answer.word), "\(place): \(word)")
    }
    if let claim = step.claim {
      let answer = try claimant.send(claimant.sign("POST", "/v1/claims", body: claim))
      #expect(answer.status == 200 || answer.status == 202, "\(place)")
    }
    // The account's rows remain here, but after a deletion the story expects an account that is gone.
    guard let expected = step.expected, !story.isDeleted(by: step.at) else { return }
    let cap = try #require(Self.cap(expected), "\(place)")
    // Without reads, the answer has already taken effect, and one look is enough.
    if story.isRead || step.at == story.steps.last?.at {
      try expectExplanation(step, expected, cap: cap, place: place)
    }
    let account = try device.get("/v1/account").json
    #expect(account["cap"].integer == cap, "\(place)")
    #expect(account["plan"].string == expected.planID, "\(place)")
    #expect(account["reason"].string == expected.reason, "\(place)")
    let room = Int(cap) - Self.feeByteCount
    let fitting = try device.put(document, [UInt8](repeating: 1, count: room), ifMatch: "*")
    #expect(fitting.status == 200, "\(place)")
    let refused = try device.put(document, [UInt8](repeating: 2, count: room + 1), ifMatch: "*")
    try expectOverCap(refused, cap: cap, expected, place)
  }

  private static func cap(_ expected: RecordedStory.Expectation) -> Int64? {
    guard let plan = caps[expected.planID], let extra = caps["extra"] else { return nil }
    return plan.here + (expected.capByteCount - plan.told) / extra.told * extra.here
  }

  /// Waits until the operator's command reports what is expected, and all required acknowledgements have been
  /// made.
  private func expectExplanation(
    _ step: RecordedStory.Step, _ expected: RecordedStory.Expectation, cap: Int64, place: String
  ) throws {
    let wanted = RecordedStory.Expectation(
      capByteCount: cap, planID: expected.planID, reason: expected.reason,
      labels: expected.labels)
    let start = MonotonicTime.now()
    var found: RecordedStory.Expectation?
    while MonotonicTime.now() < start + Self.patience {
      // A request for a read that is already running is due half a second later by this clock.
      if start + .seconds(3) < .now() { try installation.clock.set(step.at + .milliseconds(600)) }
      found = try explained(tellsLabels: expected.labels != nil)
      let isAcknowledged = api.acknowledged.isSuperset(of: step.acknowledges)
      if found == wanted, isAcknowledged { break }
      usleep(50_000)
    }
    #expect(found == wanted, "\(place)")
    #expect(api.acknowledged.isSuperset(of: step.acknowledges), "\(place)")
  }

  private func explained(tellsLabels: Bool) throws -> RecordedStory.Expectation {
    let answer = try installation.command(
      "entitlement", "explain", story.account.description, "--json")
    let json = try JSON.parse(Array(answer.output.utf8))
    var labels: [String: String] = [:]
    for name in story.subscriptions {
      let own = json["subscriptions"].array?.first {
        $0["subscription"].string == story.key(of: name)
      }
      labels[name] = own?["label"].string
    }
    return RecordedStory.Expectation(
      capByteCount: json["current"]["cap"].integer ?? -1,
      planID: json["current"]["plan"].string ?? "",
      reason: json["current"]["reason"].string ?? "", labels: tellsLabels ? labels : nil)
  }

  private func expectOverCap(
    _ answer: Answer, cap: Int64, _ expected: RecordedStory.Expectation, _ place: String
  ) throws {
    #expect(answer.status == 507, "\(place)")
    #expect(try answer.problem == "over_cap", "\(place)")
    let json = try answer.json
    #expect(json["owner"].string == story.account.description, "\(place)")
    #expect(json["usage"].integer == cap, "\(place)")
    #expect(json["cap"].integer == cap, "\(place)")
    #expect(json["needed"].integer == cap + 1, "\(place)")
    #expect(json["reason"].string == expected.reason, "\(place)")
    let fitting = json["plans"].array?.compactMap { $0["id"].string ?? $0.string }
    let larger = [
      "free": ["extra", "premium", "plus"], "premium": ["extra", "plus"], "plus": ["extra"],
    ]
    #expect(fitting == larger[expected.planID] ?? [], "\(place)")
  }

  func end() {
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
    let claims = billing.words.split(separator: "\n").filter {
      $0.contains(" billing.delivery ") && $0.contains(" delivery=client:")
    }
    #expect(claims.allSatisfy { $0.contains("\(story.account)") }, "\(claims)")
  }
}

extension RecordedStory {
  /// Whether the story reads from the store's API.
  fileprivate var isRead: Bool { steps.contains { !$0.reads.isEmpty } }

  fileprivate func isDeleted(by moment: Instant) -> Bool {
    steps.contains { $0.deletesAccount && $0.at <= moment }
  }
}
