internal import Acts
internal import Answers
internal import Base
internal import CommandLine
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
  private static let event = Parameter<String>.required(
    "event", text: EventLookup.naming, .text)
  private static let store = Parameter<(any Store)?>.optional(
    "--store", "store", text: "store, if two stores have a delivery with this id", .store)
  private static let unseal = Parameter<Bool>.flag(
    "--unseal", text: "also show its proof and body; needs --reason and is audited")

  static let eventShow = Command(
    words: ["event", "show"],
    abstract: "Show a delivery: its proof, its content and its effect",
    discussion: """
      A delivery is a store's event, an answer to a read, or a purchase that a client posted. The content \
      is what it says of objects and no newer delivery replaces. The effect is how subscriptions changed \
      when it arrived: state, owner and entitlement. If a store sent two different deliveries with one id, \
      both are shown.

      --unseal also shows the delivery as it arrived, with personal data, and what is signed or encoded in \
      it. It needs the COFFER_SEALING_KEYS that sealed it, and the audit log records who looked and why. \
      Control characters are shown as question marks; with --json the bytes are in base64.
      """,
    examples: [
      "coffer event show evt_1Qx8y",
      "coffer event show evt_1Qx8y --unseal --reason \"ticket 4711\"",
    ],
    arguments: [event],
    options: [store, unseal, Act.remark],
    answers: ["deliveries": .list(ShownEvent.shape)],
    run: { invocation in
      let name = invocation[event]
      if invocation[unseal], invocation[Act.remark] == nil {
        throw CommandFailure(.usage, "--unseal shows personal data: give --reason")
      }
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
        let shown = try database.read { reader in
          try EventLookup.find(name, of: invocation[store], reading: reader).map { delivery in
            ShownEvent(
              delivery: delivery,
              effect: try DeliveryEffect(of: delivery, at: now, ledger: ledger, reading: reader),
              canHaveNoEffect: delivery.canHaveNoEffect(under: ledger.rules), now: now)
          }
        }
        var messages: [Int64: [UInt8]] = [:]
        if let reason = invocation[Act.remark], invocation[unseal] {
          messages = try EventLookup.unsealed(
            shown.map(\.delivery), named: name, EventLookup.sealing(configuration), database)
          try noteUnsealing(of: shown, because: reason, invocation, database, at: now)
        }
        let opened = messages
        return Answer(
          text: shown.map { $0.text(message: opened[$0.delivery.number]) }
            .joined(separator: "\n"),
          json: ["deliveries": .array(shown.map { $0.json(message: opened[$0.delivery.number]) })]
        )
      }
    })

  /// Runs before anything is shown.
  private static func noteUnsealing(
    of shown: [ShownEvent], because reason: String, _ invocation: Invocation, _ database: Database,
    at now: Instant
  ) throws {
    let act = try Act(invocation, on: database)
    try database.write(for: nil) { transaction in
      for event in shown {
        let delivery = event.delivery
        let effect = Act.Effect(
          subject: "\(delivery.provider.rawValue) \(delivery.deliveryID) (#\(delivery.number))",
          account: event.effect.accounts.count == 1 ? event.effect.accounts.first : nil,
          before: ["shown": .bool(false)], after: ["shown": .bool(true)])
        try act.note(effect, because: reason, at: now, in: transaction)
      }
    }
  }
}

/// Finds the deliveries that an operator names.
enum EventLookup {
  /// The names that a delivery can have.
  static let naming = "id at the store, e.g. evt_1, or number, e.g. 17 or '#17'"

  /// Throws if there is none, or if --store is needed to select one.
  static func find(
    _ name: String, of store: (any Store)?, reading reader: Reader
  ) throws -> [DeliverySummary] {
    var found = try DeliverySummary.named(
      name, of: store.map { [$0] } ?? Array(StoreList.known), reading: reader)
    if let store { found.removeAll { $0.provider != store.provider } }
    guard !found.isEmpty else {
      let who = store.map { $0.provider.rawValue } ?? "no store"
      throw CommandFailure(
        .refused,
        store == nil ? "there is no delivery \(name)" : "\(who) never sent a delivery \(name)")
    }
    let stores = Set(found.map { $0.provider.rawValue }).sorted()
    guard stores.count == 1 else {
      throw CommandFailure(
        .usage,
        "\(stores.joined(separator: " and ")) have a delivery \(name): choose one with --store")
    }
    return found
  }

  static func sealing(
    _ configuration: DatabaseConfiguration
  ) throws(CommandFailure) -> SealingKeys {
    if let sealing = configuration.sealingKeys { return sealing }
    throw CommandFailure(
      .usage, "stored deliveries are encrypted, and COFFER_SEALING_KEYS is not set")
  }

  /// The messages as they came, by the numbers of their deliveries.
  static func unsealed(
    _ deliveries: [DeliverySummary], named name: String, _ sealing: SealingKeys,
    _ database: Database
  ) throws -> [Int64: [UInt8]] {
    guard let first = deliveries.first, let store = StoreList.known[first.provider] else {
      return [:]
    }
    do {
      let kept = try database.read {
        try KeptDelivery.find(first.deliveryID, of: store, sealing: sealing, reading: $0)
      }
      return Dictionary(kept.map { ($0.number, $0.message) }) { first, _ in first }
    } catch let error as ErasedDelivery {
      throw CommandFailure(.refused, "\(name): \(error)")
    } catch let error as CryptoError {
      throw CommandFailure(.refused, "these keys do not open \(name): \(error)")
    } catch let error as CompressionError {
      throw CommandFailure(.refused, "\(name) cannot be read: \(error)")
    }
  }
}

extension Form where Value == any Store {
  static var store: Form {
    let names = StoreList.known.map(\.provider.rawValue)
    return Form(completion: .words(names)) { (text, _) throws(CommandFailure) in
      if let store = ObjectKey.Provider(rawValue: text).flatMap({ StoreList.known[$0] }) {
        return store
      }
      throw CommandFailure(
        .usage, "there is no store \(text); there are \(names.joined(separator: ", "))")
    }
  }
}
