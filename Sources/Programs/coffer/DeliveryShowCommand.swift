internal import Base
internal import Compression
internal import Configuration
internal import Crypto
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Stores
internal import Subscriptions

extension Command {
  private static let store = Parameter<String>.required(
    "store", text: "one of: " + StoreList.known.map(\.provider.rawValue).joined(separator: ", "),
    .text)
  private static let delivery = Parameter<String>.required(
    "delivery", text: "its id at the store, e.g. evt_1", .text)

  static let deliveryShow = Command(
    words: ["delivery", "show"],
    abstract: "Shows a kept delivery as it came.",
    discussion: """
      Needs COFFER_SEALING_KEYS with the key that sealed it. It holds personal data. What proved \
      it comes first, then its body; characters that a terminal would obey are shown as question \
      marks. With --json its bytes are in base64, as they came. A store that says two things under \
      one id has both shown.
      """,
    arguments: [store, delivery],
    answers: [
      "deliveries": .list([
        "number": .integer, "type": .text, "received": .time, "message": .text,
      ])
    ],
    run: { invocation in
      let (name, id) = (invocation[store], invocation[delivery])
      guard let store = ObjectKey.Provider(rawValue: name).flatMap({ StoreList.known[$0] }) else {
        throw CommandFailure(.usage, "there is no store \(name)")
      }
      return try DatabaseSession.with(invocation, owning: .billing) { database, configuration in
        guard let sealing = configuration.sealingKeys else {
          throw CommandFailure(.usage, "kept deliveries are sealed: COFFER_SEALING_KEYS is not set")
        }
        let deliveries: [KeptDelivery]
        do {
          deliveries = try database.read {
            try KeptDelivery.find(id, of: store, sealing: sealing, reading: $0)
          }
        } catch let error as CryptoError {
          throw CommandFailure(.refused, "\(id) stays sealed under these keys: \(error)")
        } catch let error as CompressionError {
          throw CommandFailure(.refused, "\(id) cannot be read: \(error)")
        }
        guard !deliveries.isEmpty else {
          throw CommandFailure(.refused, "\(name) never sent a delivery \(id)")
        }
        return Answer(
          text: deliveries.map(text).joined(separator: "\n"),
          json: ["deliveries": .array(deliveries.map(json))])
      }
    })

  private static func text(_ delivery: KeptDelivery) -> String {
    let message = String(decoding: delivery.message, as: UTF8.self)
      .split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    let lines = ["# \(delivery.number) \(delivery.type), received \(delivery.received)"] + message
    return lines.map { Printable.text(String($0)) + "\n" }.joined()
  }

  private static func json(_ delivery: KeptDelivery) -> JSONValue {
    [
      "number": .integer(delivery.number), "type": .string(delivery.type),
      "received": .string(delivery.received.description),
      "message": .string(Base64.standard.encode(delivery.message)),
    ]
  }
}
