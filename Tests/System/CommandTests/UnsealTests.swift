import Base
import Compression
import Crypto
import Storage
import Stripe
import TestEngines
import Testing

struct UnsealTests {
  private static let key = [UInt8](repeating: 7, count: 32)
  private static let message = Array(
    "Stripe-Signature: t=1,v1=00\r\n\r\n{\n  \"id\": \"evt\",\n  \"x\": \"\u{1B}[2J\"\n}".utf8)

  /// A delivery in the form in which the App Store signs content.
  private static let signed: [UInt8] = {
    let inner = jws(#"{"id":"7"}"#)
    let outer = jws(#"{"data":{"price":1,"signed":"\#(inner)"}}"#)
    return Array("\r\n\r\n{\"signedPayload\":\"\(outer)\"}".utf8)
  }()

  private static func jws(_ payload: String) -> String {
    "\(Base64.url.encode(Array("{}".utf8))).\(Base64.url.encode(Array(payload.utf8))).AAAA"
  }

  private let scratch: ScratchDirectory
  private let environment: [String: String]

  /// Adds a delivery, one that was cut off, one that was erased, and one with signed content.
  init() throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_SEALING_KEYS": Base64.standard.encode(Self.key),
    ]
    let frame = StripeStore().compressor.compress(Self.message)
    try scratch.change(.billing) { transaction in
      try Self.keep(frame, as: "evt_new", 2, in: transaction)
      try Self.keep(Array(frame.dropLast()), as: "evt_cut", 3, in: transaction)
      try Self.keep([], as: "evt_gone", 4, in: transaction)
      let signed = StripeStore().compressor.compress(Self.signed)
      try Self.keep(signed, as: "evt_signed", 5, in: transaction)
      try transaction.execute(
        "UPDATE billing.deliveries SET sealed = $1 WHERE id = 4", .blob([]))
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

  private static let reason = ["--unseal", "--reason", "ticket 17"]

  @Test func `a delivery is shown as it came`() throws {
    let finished = try Finished(
      ["event", "show", "evt_new"] + Self.reason, environment: environment)
    #expect(finished.code == 0, "\(finished.errors)")
    #expect(
      finished.out.hasSuffix(
        """

        as it came
          Stripe-Signature: t=1,v1=00

          {
            "id": "evt",
            "x": "?[2J"
          }

        """))
    let sealed = try coffer("event", "show", "evt_new").out
    #expect(!sealed.contains("as it came") && sealed.contains("invoice.paid"))
  }

  @Test func `what is signed within a delivery is told beneath it`() throws {
    let finished = try Finished(
      ["event", "show", "evt_signed"] + Self.reason, environment: environment)
    #expect(
      finished.out.hasSuffix(
        """

        $.signedPayload of it
          {
            "data": {
              "price": 1,
              "signed": (below)
            }
          }

        $.signedPayload.data.signed of it
          {
            "id": "7"
          }

        """), "\(finished.out)")
  }

  @Test func `what was erased with its account is said to be, and needs no other key`() throws {
    let shown = try Finished(["event", "show", "evt_gone"] + Self.reason, environment: environment)
    #expect(shown.code == 1)
    #expect(shown.errors.contains("its body was erased with the account"), "\(shown.errors)")
    let replayed = try coffer("event", "replay", "evt_gone", "--dry-run")
    #expect(replayed.errors.contains("its body was erased with the account"))
    let resealed = try coffer("delivery", "reseal", "--json")
    #expect(resealed.out.contains(#""unopened":0"#), "\(resealed.out) \(resealed.errors)")
  }

  @Test func `programs get its bytes`() throws {
    let message = Base64.standard.encode(Self.message)
    let finished = try Finished(
      ["event", "show", "#2", "--json"] + Self.reason, environment: environment)
    #expect(finished.out.contains(#""number":2,"#))
    #expect(finished.out.contains(#""message":"\#(message)""#))
  }

  @Test func `who looked into a delivery, and why, is kept before anything is shown`() throws {
    _ = try coffer("migrate")
    _ = try Finished(["event", "show", "evt_new"] + Self.reason, environment: environment)
    let log = try coffer("audit", "list").out
    #expect(log.contains("event show") && log.contains("evt_new") && log.contains("ticket 17"))
    let unsaid = try coffer("event", "show", "evt_new", "--unseal")
    #expect(unsaid.code == 64)
    #expect(unsaid.out.isEmpty)
  }

  @Test func `what stays closed, and why, is one line`() throws {
    let other = ["COFFER_SEALING_KEYS": Base64.standard.encode([UInt8](repeating: 8, count: 32))]
    for (words, settings, code, line) in [
      (["evt_cut"], [:], 1, "evt_cut cannot be read: it was cut or changed"),
      (["evt_new"], other, 1, "these keys do not open evt_new: none of them sealed it"),
      (["evt_9"], [:], 1, "there is no delivery evt_9"),
      (["evt_new", "--store", "apple"], [:], 1, "apple never sent a delivery evt_new"),
      (
        ["evt_new", "--store", "nobody"], [:], 64,
        "there is no store nobody; there are stripe, apple, google, btcpay"
      ),
    ] as [([String], [String: String], Int32, String)] {
      let finished = try Finished(
        ["event", "show"] + words + Self.reason, environment: environment.merging(settings) { $1 })
      #expect(finished.code == code)
      #expect(finished.errors == "coffer: \(line)\n")
    }
  }

  @Test func `two stores with one id are told apart by name`() throws {
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        """
        INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
          received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
        VALUES (9, 'apple', 'live', 'evt_new', $1, 'TEST', 1772445300000, 3, 'recorded', 0, 0, $1)
        """, .blob([1]))
    }
    let finished = try coffer("event", "show", "evt_new")
    #expect(finished.code == 64)
    #expect(
      finished.errors
        == "coffer: apple and stripe have a delivery evt_new: choose one with --store\n")
    #expect(try coffer("event", "show", "evt_new", "--store", "apple").out.contains("TEST"))
  }

  @Test func `without the keys it says which setting it needs`() throws {
    var bare = environment
    bare["COFFER_SEALING_KEYS"] = nil
    let finished = try Finished(
      ["event", "show", "evt_new"] + Self.reason, environment: bare)
    #expect(finished.code == 78)
    #expect(finished.errors.contains("COFFER_SEALING_KEYS is not set"))
  }
}
