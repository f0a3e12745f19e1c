import Base
import Compression
import Crypto
import Storage
import Stripe
import TestEngines
import TestFiles
import Testing

struct DeliveryShowTests {
  private static let key = [UInt8](repeating: 7, count: 32)
  private static let message = Array(
    "Stripe-Signature: t=1,v1=00\r\n\r\n{\n  \"id\": \"evt\",\n  \"x\": \"\u{1B}[2J\"\n}".utf8)

  private let scratch: ScratchDirectory
  private let environment: [String: String]

  /// A delivery as a program of before kept it, one as it is kept now, and one nobody can read.
  init() throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_SEALING_KEYS": Base64.standard.encode(Self.key),
    ]
    let database = try Database.open(
      .sqlite(directory: scratch.path + "/database"), owning: .billing)
    defer { database.close() }
    let frame = StripeStore().compressor.compress(Self.message)
    try database.write(for: nil) { transaction in
      try Self.keep(Self.message, as: "evt_old", 1, in: transaction)
      try Self.keep(frame, as: "evt_new", 2, in: transaction)
      try Self.keep(Array(frame.dropLast()), as: "evt_cut", 3, in: transaction)
    }
  }

  private static func keep(
    _ bytes: [UInt8], as id: String, _ number: Int64, in transaction: Transaction
  ) throws {
    let keys = try SealingKeys([Secret(key)])
    let sealed = keys.seal(bytes, context: Array("stripe|\(id)".utf8))
    try transaction.execute(
      """
      INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
        received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
      VALUES ($1, 'stripe', 'live', $2, $3, 'invoice.paid', 1772445300000, 3, 'recorded', 0, 0, $4)
      """, .integer(number), .text(id), .blob([1]), .blob(sealed))
  }

  private func coffer(
    _ words: String..., settings: [String: String] = [:]
  ) throws -> Finished {
    try Finished(words, environment: environment.merging(settings) { $1 })
  }

  @Test(arguments: [(1, "evt_old"), (2, "evt_new")])
  func `a delivery is shown as it came, whenever it was kept`(number: Int, id: String) throws {
    let finished = try coffer("delivery", "show", "stripe", id)
    #expect(finished.code == 0, "\(finished.errors)")
    #expect(
      finished.out == """
        # \(number) invoice.paid, received 2026-03-02T09:55:00Z
        Stripe-Signature: t=1,v1=00

        {
          "id": "evt",
          "x": "?[2J"
        }

        """)
  }

  @Test(arguments: [(1, "evt_old"), (2, "evt_new")])
  func `programs get its bytes`(number: Int, id: String) throws {
    let message = Base64.standard.encode(Self.message)
    #expect(
      try coffer("delivery", "show", "stripe", id, "--json").out == """
        {"deliveries":[{"number":\(number),"type":"invoice.paid",\
        "received":"2026-03-02T09:55:00Z","message":"\(message)"}]}

        """)
  }

  @Test func `what stays closed, and why, is one line`() throws {
    let other = ["COFFER_SEALING_KEYS": Base64.standard.encode([UInt8](repeating: 8, count: 32))]
    for (words, settings, code, line) in [
      (["stripe", "evt_cut"], [:], 1, "evt_cut cannot be read: malformed"),
      (["stripe", "evt_new"], other, 1, "evt_new stays sealed under these keys: unknownKey"),
      (["stripe", "evt_9"], [:], 1, "stripe never sent a delivery evt_9"),
      (["apple", "evt_new"], [:], 1, "apple never sent a delivery evt_new"),
      (["nobody", "evt_new"], [:], 64, "there is no store nobody"),
    ] as [([String], [String: String], Int32, String)] {
      let finished = try Finished(
        ["delivery", "show"] + words, environment: environment.merging(settings) { $1 })
      #expect(finished.code == code)
      #expect(finished.errors == "coffer: \(line)\n")
    }
  }

  @Test func `without the keys it says which setting it needs`() throws {
    var bare = environment
    bare["COFFER_SEALING_KEYS"] = nil
    let finished = try Finished(["delivery", "show", "stripe", "evt_new"], environment: bare)
    #expect(finished.code == 64)
    #expect(finished.errors.contains("COFFER_SEALING_KEYS is not set"))
  }
}
