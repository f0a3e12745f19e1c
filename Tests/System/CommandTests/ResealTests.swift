import Base
import Crypto
import Jobs
import RecordedStories
import Storage
import TestEngines
import TestFiles
import Testing

/// Kept deliveries and jobs from before a rotation of keys.
struct ResealTests {
  private static let old = [UInt8](repeating: 7, count: 32)
  private static let new = [UInt8](repeating: 8, count: 32)
  private static let purchase = "google:live:purchase:abc"
  /// More than fit in one transaction.
  private static let count: Int64 = 1200
  private static let now: Int64 = 1_800_000_000

  private let scratch: ScratchDatabase
  private let directory: ScratchDirectory
  private let environment: [String: String]

  init() throws {
    scratch = try ScratchDatabase(TestEngine.available.last ?? .sqlite)
    directory = try ScratchDirectory()
    try Files.write("\(Self.now)000\n", to: directory.path + "/clock")
    let location =
      switch scratch.location {
      case .sqlite(let directory): "sqlite://\(directory)"
      case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
      }
    environment = [
      "COFFER_DATABASE": location, "COFFER_PLANS": RecordedStory.cataloguePath,
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": directory.path + "/clock",
      "COFFER_GOOGLE_PACKAGE": "com.example.notes",
    ]
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let keys = try SealingKeys([Secret(Self.old)])
    try database.write(for: nil) { transaction in
      for number in 1...Self.count {
        try Self.keep(number, sealedBy: Self.old, secondsAgo: Self.now, in: transaction)
      }
      try Jobs.request(
        "read", Self.purchase,
        payload: keys.seal([4], context: Array("payload|\(Self.purchase)".utf8)),
        due: Instant(seconds: 0), in: transaction)
    }
  }

  private static func keep(
    _ number: Int64, sealedBy key: [UInt8], secondsAgo age: Int64, in transaction: Transaction
  ) throws {
    let context = Array("stripe|evt_\(number)".utf8)
    let sealed = try SealingKeys([Secret(key)]).seal([1, 2, 3], context: context)
    try transaction.execute(
      """
      INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
        received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
      VALUES ($1, 'stripe', 'live', $2, $3, 'invoice.paid', $5, 3, 'recorded', 0, 0, $4)
      """, .integer(number), .text("evt_\(number)"), .blob([1]), .blob(sealed),
      .instant(Instant(seconds: now - age)))
  }

  /// Adds a delivery as a coffer-billing would that seals with this key.
  private func keep(_ number: Int64, sealedBy key: [UInt8], secondsAgo age: Int64) throws {
    let database = try Database.open(scratch.location, owning: .billing, .requiresSchema)
    defer { database.close() }
    try database.write(for: nil) { transaction in
      try Self.keep(number, sealedBy: key, secondsAgo: age, in: transaction)
    }
  }

  private func reseal(_ keys: [UInt8]...) throws -> Finished {
    var environment = environment
    environment["COFFER_SEALING_KEYS"] = keys.map { Base64.standard.encode($0) }
      .joined(separator: ",")
    return try Finished(["delivery", "reseal"], environment: environment)
  }

  @Test func `nothing is sealed anew while a server seals with another key than the first`() throws
  {
    let early = try reseal(Self.new, Self.old)
    #expect(early.code == 1)
    #expect(early.errors.contains("the newest delivery, of 1970-01-01T00:00:00Z, is not sealed by"))
    // Only one of two instances was restarted.
    try keep(1201, sealedBy: Self.old, secondsAgo: 60)
    try keep(1202, sealedBy: Self.new, secondsAgo: 30)
    let mixed = try reseal(Self.new, Self.old)
    #expect(mixed.code == 1)
    #expect(mixed.errors.contains("a delivery of 2027-01-15T07:59:00Z is not sealed by the first"))
    try Files.write("\(Self.now + 600)000\n", to: directory.path + "/clock")
    #expect(try reseal(Self.new, Self.old).out.hasPrefix("1202 were resealed;"))
  }

  @Test func `after it everything opens by the new key alone, and a second time finds nothing`()
    throws
  {
    try keep(1201, sealedBy: Self.new, secondsAgo: 3)
    let done = try reseal(Self.new, Self.old)
    #expect(
      done.out
        == "1201 were resealed; no older key is needed any more, once every coffer-billing was "
        + "restarted with the first\n", "\(done.errors)")
    #expect(try reseal(Self.new, Self.old).out.hasPrefix("0 were resealed;"))
    let database = try Database.open(scratch.location, owning: .billing, .requiresSchema)
    defer { database.close() }
    let keys = try SealingKeys([Secret(Self.new)])
    try database.read { reader in
      let deliveries = try reader.rows("SELECT id, sealed FROM billing.deliveries") { row in
        (try row.integer(0), try row.blob(1))
      }
      #expect(deliveries.count == Self.count + 1)
      for (number, sealed) in deliveries {
        #expect(try keys.open(sealed, context: Array("stripe|evt_\(number)".utf8)) == [1, 2, 3])
      }
      let payload = try #require(
        try Jobs.payload("read", Self.purchase, reading: reader))
      #expect(
        try keys.open(payload, context: Array("payload|\(Self.purchase)".utf8)) == [4])
    }
  }

  /// Whether `opener` opens the token that a command with these keys keeps for coffer-billing; nil if it
  /// keeps none.
  private func tokenOpens(by opener: [UInt8], givenTo keys: [UInt8]...) throws -> Bool? {
    var environment = environment
    environment["COFFER_SEALING_KEYS"] = keys.map { Base64.standard.encode($0) }
      .joined(separator: ",")
    let token = String(repeating: "a", count: 100) + ".AO-J1O"
    let asked = try Finished(["subscription", "read", token], environment: environment)
    guard asked.code == 0 else {
      #expect(asked.errors.contains("coffer-billing seals with a key that is not"))
      return nil
    }
    let key = try #require(asked.out.split(separator: " ").first.map(String.init))
    let database = try Database.open(scratch.location, owning: .billing, .requiresSchema)
    defer { database.close() }
    let payload = try #require(
      try database.read { try Jobs.payload("read", key, reading: $0) })
    let opened = try? SealingKeys([Secret(opener)]).open(
      payload, context: Array("payload|\(key)".utf8))
    return opened == Array(token.utf8)
  }

  @Test func `a token is sealed by the key that coffer-billing seals with, or not at all`() throws {
    #expect(try tokenOpens(by: Self.old, givenTo: Self.new, Self.old) == true)
    #expect(try tokenOpens(by: Self.old, givenTo: Self.new) == nil)
    try keep(1201, sealedBy: Self.new, secondsAgo: 3)
    #expect(try tokenOpens(by: Self.new, givenTo: Self.old, Self.new) == true)
  }

  @Test func `what no key opens stays as it is, and is told`() throws {
    try keep(1201, sealedBy: Self.new, secondsAgo: 3)
    let done = try reseal(Self.new)
    #expect(done.code == 1)
    #expect(done.out == "0 were resealed\n")
    #expect(
      done.errors.contains("1201 are sealed with other keys and stay as they are"))
    #expect(try reseal(Self.new, Self.old).out.hasPrefix("1201 were resealed;"))
  }
}
