import Base
import Configuration
import Crypto
import JSON
import Storage
import StripeSamples
import TestDevices
import TestEngines
import TestFiles
import Testing

/// An erased account leaves nothing that shows who it was or what it kept.
@Suite struct ErasureTests {
  @Test(arguments: TestEngine.available)
  func `database, objects and logs hold nothing of an erased account, and its archive everything`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    #expect(try scene.found().count == Scene.marks.count, "the search finds what is there")
    #expect(try scene.mailIsKept())
    #expect(try scene.run("find", Scene.mail).output.contains(scene.account.description))

    _ = try scene.run(
      "account", "delete", "quillon", "--export-first", "--reason", "asked", "--yes")
    try scene.pass(.days(30))
    #expect(try scene.state() == "exporting")
    #expect(try scene.run("account", "show", "quillon").output.contains("deletion   exporting\n"))
    let wanted = try scene.run("attention").output
    #expect(wanted.contains("coffer account export \(scene.account) --to <path>"), "\(wanted)")
    let archive = scene.archive
    let told = try scene.run("account", "export", scene.account.description, "--to", archive)
    #expect(told.output.contains("it is erased from"), "\(told.output)")
    let kept = try #require(Files.bytes(archive))
    #expect(kept.holds(Scene.marks["large"] ?? []) && kept.holds(Array(Scene.mail.utf8)))

    try scene.pass(.days(6))
    #expect(try scene.state() == "waiting")
    try scene.pass(.days(2))
    try scene.waitUntil("erased")
    // Large contents are deleted ten minutes later.
    try scene.pass(.days(1))
    try scene.waitUntilAllIsGone()
    let doctor = try scene.run("doctor", "--all", "--objects")
    scene.stop()
    let left = try scene.found()
    #expect(left.isEmpty, "\(left)")
    #expect(doctor.code == .exited(0), "\(doctor.output)")
  }
}

/// Both programs, and an account that leaves its marks wherever it can.
private final class Scene {
  static let mail = "quillon.mark@example.com"
  /// Bytes that must be found before the erasure and not after it.
  static let marks: [String: [UInt8]] = [
    "name": Array("quillon".utf8), "label": Array("phone of quill".utf8),
    "small": Array("SMALL-CONTENT-MARK".utf8), "large": Array("LARGE-CONTENT-MARK".utf8),
    "hmac": Array("A-NAME-HMAC-OF-THIRTY-TWO-BYTES!".utf8), "key": keyBytes,
  ]
  private static let key = Ed25519PrivateKey()
  private static var keyBytes: [UInt8] { key.publicKey.bytes }

  let account: Identifier
  private let engine: TestEngine
  private let installation: Installation
  private var servers: [Server] = []

  init(_ engine: TestEngine) throws {
    self.engine = engine
    installation = try Installation(
      engine, startingAt: Clock.system.now(),
      settings: [
        "COFFER_PLANS": Files.repository + "/webhooks/catalogue.json",
        "COFFER_SEARCH_KEY": Base64.standard.encode([UInt8](repeating: 3, count: 32)),
      ])
    servers = [try installation.start(.sync), try installation.start(.billing)]
    let device = installation.device(of: servers[0], key: Self.key)
    let created = try device.post(
      "/v1/accounts", ["root": .string(device.root.description), "username": "quillon"])
    guard created.status == 201 else { throw UnexpectedAnswer(created) }
    account = try device.account
    let phone = installation.device(of: servers[0], key: Ed25519PrivateKey(), root: device.root)
    let documents = try [Self.marks["hmac"] ?? [], Random.bytes(32)].map { hmac in
      try device.create(hmac: hmac)
    }
    let large = [[UInt8]](repeating: Self.marks["large"] ?? [], count: 2000).flatMap { $0 }
    let answers = [
      try device.admit(phone, label: "phone of quill"), documents[0].answer, documents[1].answer,
      try device.put(documents[0].id, Self.marks["small"] ?? [], ifMatch: "*"),
      try device.put(documents[1].id, large, ifMatch: "*"),
    ]
    #expect(answers.map(\.status).allSatisfy { (200..<300).contains($0) })
    try pay()
  }

  /// Stripe reports a paid month, with the payer's mail address.
  private func pay() throws {
    let from = Instant(seconds: installation.clock.now().seconds - 86_400)
    var subscription = SampleSubscription(from: from, to: from + .days(30))
    subscription.account = account.description
    var invoice = SampleInvoice(from: from, to: from + .days(30))
    (subscription.product, invoice.product) = ("prod_oeuwN9CMGohKpA", "prod_oeuwN9CMGohKpA")
    let sender = Sender(port: servers[1].port)
    for (id, type, object) in [
      ("evt_1", "customer.subscription.created", subscription.json(.basil)),
      (
        "evt_2", "invoice.paid",
        invoice.json(.basil).adding(["customer_email": .string(Self.mail)])
      ),
    ] {
      sender.send(SampleEvent(id: id, type: type, created: from, object: object))
    }
    #expect(sender.acknowledged.count == 2, "\(sender.trouble)")
  }

  var archive: String { installation.directory + "/quillon.tar" }

  func run(_ words: String...) throws -> (code: ChildProcess.End, output: String) {
    let (end, output) = try installation.command(words)
    return (end, output)
  }

  /// Advances the time and restarts the programs, which then look for due work.
  func pass(_ span: Instant.Span) throws {
    stop()
    try installation.clock.set(installation.clock.now() + span)
    servers = [try installation.start(.sync), try installation.start(.billing)]
  }

  func stop() {
    for server in servers { server.stop() }
  }

  func state() throws -> String? {
    let listed = try run("deletion", "list", "--json").output
    return try JSON.parse(Array(listed.utf8))["deletions"][0]["state"].string
  }

  func mailIsKept() throws -> Bool {
    try run("event", "show", "evt_2", "--unseal", "--reason", "test").output.contains(Self.mail)
  }

  func waitUntil(_ state: String) throws {
    try wait("it is not \(state)") { try self.state() == state }
  }

  func waitUntilAllIsGone() throws {
    try wait("it is not gone") {
      let isHeld = try self.found()["large"] != nil || self.mailIsKept()
      return try !isHeld && !self.run("find", Self.mail).output.contains("sub_1")
    }
  }

  private func wait(_ trouble: String, _ condition: () throws -> Bool) throws {
    let deadline = MonotonicTime.now() + .seconds(60)
    while try !condition() {
      guard MonotonicTime.now() < deadline else {
        throw ScenarioError("\(trouble): \(servers.map(\.lastWords))")
      }
      // A job continues a moment later, and large contents are deleted after ten minutes.
      try installation.clock.set(installation.clock.now() + .minutes(1))
    }
  }

  /// The places where each mark is found: the programs' files, including their logs, and a dump of
  /// PostgreSQL.
  func found() throws -> [String: [String]] {
    let own = installation.directory
    // The output of commands belongs to the operator.
    var places = Files.paths(under: own).filter { path in
      !path.hasPrefix("command-") && !path.hasSuffix(".tar") && path != "dump.sql"
    }.map { "\(own)/\($0)" }
    if engine == .postgres {
      let dump = own + "/dump.sql"
      guard case .postgres(url: let url) = installation.location else { return [:] }
      let dumped = Shell.run(
        "pg_dump '\(String(decoding: url.exposed, as: UTF8.self))' > '\(dump)'")
      #expect(dumped.status == 0, "\(dumped.output)")
      places.append(dump)
    }
    var found: [String: [String]] = [:]
    for place in places {
      guard let bytes = Files.bytes(place) else { continue }
      for (name, mark) in Self.marks
      where bytes.holds(mark) || bytes.holds(Array(Hex.encode(mark).utf8)) {
        found[name, default: []].append(place)
      }
    }
    return found
  }
}
