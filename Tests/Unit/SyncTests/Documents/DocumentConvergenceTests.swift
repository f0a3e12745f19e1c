import Base
import Crypto
import JSON
import SeededRandom
import TestDevices
import TestEngines
import Testing

/// Devices that edit, delete, push and pull in a random order end with the same documents, and with those of a model
/// that knows no SQL.
@Suite struct DocumentConvergenceTests {
  /// What a device knows of documents, by the rule for all devices: a version drops those that its clock covers, unless
  /// a known one covers it, and a deletion drops all, for good.
  private struct Replica {
    var documents: [Identifier: [SeenDocumentVersion]] = [:]

    mutating func take(_ version: SeenDocumentVersion) {
      let known = documents[version.document] ?? []
      let isKnown = known.contains {
        $0.body == nil || $0 == version || $0.clock[version.author] ?? 0 >= version.counter
      }
      guard !isKnown else { return }
      let kept = known.filter { $0.counter > version.clock[$0.author] ?? 0 }
      documents[version.document] = (version.body == nil ? [] : kept) + [version]
    }

    /// The bodies of each document that is not deleted.
    var shown: [Identifier: Set<[UInt8]>] {
      documents.compactMapValues { versions in
        let bodies = versions.compactMap(\.body)
        return bodies.count == versions.count ? Set(bodies) : nil
      }
    }
  }

  private struct Phone {
    let device: TestDevice
    var replica = Replica()
    var clock: [[UInt8]: Int64] = [:]
    var counter: Int64 = 0
    var unpushed: [MadeVersion] = []

    /// Edits or deletes a document by all that the phone has of it.
    mutating func change(_ document: Identifier, _ body: [UInt8]?) throws {
      counter = max(counter, clock.values.max() ?? 0) + 1
      var covered: [[UInt8]: Int64] = [:]
      for version in replica.documents[document] ?? [] {
        guard version.body != nil else { return }
        covered.merge(version.clock) { max($0, $1) }
        covered[version.author] = max(covered[version.author] ?? 0, version.counter)
      }
      let made = device.version(document, counter, covering: covered, body)
      let json = try JSON.parse(made.signed(by: device.key).encoded())
      replica.take(try #require(SeenDocumentVersion(json)))
      unpushed.append(made)
    }

    /// Pushes everything. Sometimes the answer is lost, so the same comes again.
    mutating func push(isLost: Bool) throws {
      guard !unpushed.isEmpty else { return }
      try device.push(unpushed).requireSuccess()
      if !isLost { unpushed = [] }
    }

    mutating func pull(limit: Int) throws {
      let pulled = try device.pull(clock, limit: limit)
      for version in pulled.versions { replica.take(version) }
      clock = pulled.clock
    }
  }

  @Test(arguments: TestEngine.available)
  func `random edits on three devices converge`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "DocumentConvergenceTests")
    var random = SeededGenerator(seed: seed)
    let server = try TestServer(engine, keepingFor: 30)
    var phones = try server.devices(3).map { Phone(device: $0) }
    let documents = (0..<6).map { _ in Identifier(high: random.next(), low: random.next()) }
    var model = Replica()
    var pushedCount = 0
    for _ in 0..<150 {
      let index = Int.random(in: 0..<3, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        try phones[index].change(
          documents.randomElement(using: &random)!, random.bytes(count: 3))
      case 4 where Bool.random(using: &random):
        try phones[index].change(documents.randomElement(using: &random)!, nil)
      case 4..<7:
        for made in phones[index].unpushed {
          let json = try JSON.parse(made.signed(by: phones[index].device.key).encoded())
          model.take(try #require(SeenDocumentVersion(json)))
          pushedCount += 1
        }
        try phones[index].push(isLost: Int.random(in: 0..<4, using: &random) == 0)
      default: try phones[index].pull(limit: .random(in: 1...9, using: &random))
      }
    }
    for index in phones.indices {
      for made in phones[index].unpushed {
        let json = try JSON.parse(made.signed(by: phones[index].device.key).encoded())
        model.take(try #require(SeenDocumentVersion(json)))
      }
      try phones[index].push(isLost: false)
    }
    for index in phones.indices { try phones[index].pull(limit: 2) }
    var new = Replica()
    for version in try phones[0].device.pull(limit: 3).versions { new.take(version) }
    #expect(pushedCount > 0)
    #expect(new.shown == model.shown, "seed \(seed)")
    for phone in phones { #expect(phone.replica.shown == model.shown, "seed \(seed)") }
    try server.requireDocuments(phones[0].device)
  }
}
