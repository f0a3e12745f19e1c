import Base
import Configuration
import Crypto
import JSON
import LocalServer
import RecordedStories
import TestDevices
import TestEngines
import Testing

/// The main purpose of Coffer in one run: an account at its cap pays, continues to sync, and stops paying.
@Suite struct HeadlineTests {
  @Test(arguments: TestEngine.available)
  func `a payment lifts the cap, its failure lowers it, and nothing is ever lost`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let small = [UInt8](repeating: 1, count: 900_000)
    let large = [UInt8](repeating: 2, count: 1_500_000)

    #expect(try scene.laptop.put(scene.document, small, ifMatch: "\"0\"").status == 200)
    let unpaid = try scene.laptop.put(scene.document, large, ifMatch: "*")
    try scene.expectRefusal(
      unpaid, reason: "never_subscribed", plans: ["extra", "premium", "plus"])
    let cursor = try scene.phone.get("/v1/updates").json["cursor"].requireString()

    for _ in 0..<3 { try scene.deliverNext() }
    #expect(try scene.laptop.put(scene.document, large, ifMatch: "*").status == 200)
    let news = try scene.phone.get("/v1/updates?since=\(cursor)").json
    #expect(
      try news["changes"].requireArray().map { $0["file"]["id"].string } == [scene.documentText])
    #expect(try scene.phone.get("/v1/files/\(scene.document)/content").holds(large))
    let paid = try scene.explain()
    #expect(paid.contains("subscribed: the current period is paid"))
    #expect(paid.contains(try scene.deliveryID(of: 2)))

    while try scene.deliverNext() {}
    let longer = large + [0]
    let lapsed = try scene.laptop.put(scene.document, longer, ifMatch: "*")
    try scene.expectRefusal(lapsed, reason: "payment_failed", plans: ["extra", "premium", "plus"])
    #expect(try scene.phone.get("/v1/files/\(scene.document)/content").holds(large))
    #expect(try scene.explain().contains("because   payment_failed"))
    #expect(try scene.phone.put(scene.document, small, ifMatch: "*").status == 200)
    scene.end()
  }
}

/// Both programs, an account with two devices and a document, and a story's deliveries.
private final class Scene {
  let laptop: TestDevice
  let phone: TestDevice
  let document: Identifier
  private let story: RecordedStory
  private let installation: Installation
  private let sync: Server
  private let billing: Server
  private var steps: ArraySlice<RecordedStory.Step>

  init(_ engine: TestEngine) throws {
    let name = "stripe/2025-03-31.basil/failed-payment-lapse"
    story = try #require(RecordedStory.all.first { $0.name == name })
    steps = story.steps[...]
    let port = Ports.free()
    installation = try Installation(
      engine, startingAt: try #require(story.steps.first).at,
      settings: [
        "COFFER_PLANS": RecordedStory.cataloguePath,
        "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      ])
    sync = try installation.start(.sync)
    billing = try installation.start(.billing, port: port)
    let key = Ed25519PrivateKey()
    let created = try installation.command(
      "account", "create", "--username", "ada", "--id", story.account.description, "--public-key",
      Base64.standard.encode(key.publicKey.bytes), "--json")
    let root = try JSON.parse(Array(created.output.utf8))["root"].requireString()
    laptop = installation.device(of: sync, key: key, root: try #require(Identifier(root)))
    phone = installation.device(of: sync, key: Ed25519PrivateKey(), root: laptop.root)
    let added = try laptop.admit(phone, label: "phone")
    guard added.status == 201 else { throw UnexpectedAnswer(added) }
    let file = try laptop.create()
    guard file.answer.status == 200 else { throw UnexpectedAnswer(file.answer) }
    document = file.id
  }

  var documentText: String { document.description }

  /// Moves the clock to the next delivery and sends it by the command line; false at the end of the story.
  @discardableResult
  func deliverNext() throws -> Bool {
    while let step = steps.popFirst() {
      try installation.clock.set(step.at)
      guard let request = step.delivery else { continue }
      let path = "\(RecordedStory.folder)/\(story.name)/\(request.name)"
      let sent = try installation.command("webhook", "send", path)
      #expect(sent.end == .exited(0))
      #expect(sent.output == "{\"status\":\"recorded\"}\ncoffer: HTTP 200\n")
      return true
    }
    return false
  }

  /// The provider's id of the story's delivery `number`, from 0.
  func deliveryID(of number: Int) throws -> String {
    try JSON.parse(story.taken[number].body)["id"].requireString()
  }

  func explain() throws -> String {
    try installation.command("entitlement", "explain", "ada", "--wide").output
  }

  func expectRefusal(_ answer: Answer, reason: String, plans: [String]) throws {
    #expect(answer.status == 507)
    #expect(try answer.problem == "over_cap")
    let json = try answer.json
    #expect(json["owner"].string == story.account.description)
    #expect(json["cap"].integer == 1_000_000)
    #expect(json["reason"].string == reason)
    #expect(try json["plans"].requireArray().map { $0["id"].string ?? $0.string } == plans)
  }

  func end() {
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
  }
}
