import Base
import Crypto
import Jobs
import Storage
import TestEngines
import Testing

/// Kept deliveries and jobs of before a rotation of keys.
struct ResealTests {
  private static let old = [UInt8](repeating: 7, count: 32)
  private static let new = [UInt8](repeating: 8, count: 32)
  private static let purchase = "google:live:purchase:abc"
  /// More than one transaction takes.
  private static let count: Int64 = 1200

  private let scratch: ScratchDatabase
  private let environment: [String: String]

  init() throws {
    scratch = try ScratchDatabase(TestEngine.available.last ?? .sqlite)
    switch scratch.location {
    case .sqlite(let directory): environment = ["COFFER_DATABASE": "sqlite://\(directory)"]
    case .postgres(let url):
      environment = ["COFFER_DATABASE": String(decoding: url.exposed, as: UTF8.self)]
    }
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let keys = try SealingKeys([Secret(Self.old)])
    try database.write(for: nil) { transaction in
      for number in 1...Self.count {
        let sealed = keys.seal([1, 2, 3], context: Array("stripe|evt_\(number)".utf8))
        try transaction.execute(
          """
          INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
            received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
          VALUES ($1, 'stripe', 'live', $2, $3, 'invoice.paid', 0, 3, 'recorded', 0, 0, $4)
          """, .integer(number), .text("evt_\(number)"), .blob([1]), .blob(sealed))
      }
      try Jobs.request(
        "read", Self.purchase,
        payload: keys.seal([4], context: Array("payload|\(Self.purchase)".utf8)),
        due: Instant(seconds: 0), in: transaction)
    }
  }

  private func reseal(_ keys: [UInt8]...) throws -> Finished {
    var environment = environment
    environment["COFFER_SEALING_KEYS"] = keys.map { Base64.standard.encode($0) }
      .joined(separator: ",")
    return try Finished(["delivery", "reseal"], environment: environment)
  }

  @Test func `after it everything opens by the new key alone, and a second time finds nothing`()
    throws
  {
    let done = try reseal(Self.new, Self.old)
    #expect(
      done.out == "1201 were sealed anew; no older key is needed any more\n", "\(done.errors)")
    #expect(try reseal(Self.new, Self.old).out.hasPrefix("0 were sealed anew;"))
    let database = try Database.open(scratch.location, owning: .billing, .requiresSchema)
    defer { database.close() }
    let keys = try SealingKeys([Secret(Self.new)])
    try database.read { reader in
      let deliveries = try reader.rows("SELECT id, sealed FROM billing.deliveries") { row in
        (try row.integer(0), try row.blob(1))
      }
      #expect(deliveries.count == Self.count)
      for (number, sealed) in deliveries {
        #expect(try keys.open(sealed, context: Array("stripe|evt_\(number)".utf8)) == [1, 2, 3])
      }
      let payload = try #require(
        try Jobs.payload("read", Self.purchase, reading: reader))
      #expect(
        try keys.open(payload, context: Array("payload|\(Self.purchase)".utf8)) == [4])
    }
  }

  @Test func `what no key opens stays as it is, and is told`() throws {
    let done = try reseal(Self.new)
    #expect(done.code == 1)
    #expect(done.out == "0 were sealed anew\n")
    #expect(
      done.errors.contains("1201 are sealed by keys that are not given, and stay as they are"))
    #expect(try reseal(Self.new, Self.old).out.hasPrefix("1201 were sealed anew;"))
  }
}
