import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Subscriptions

extension Command {
  private static let event = Parameter<String>.required("event", text: EventLookup.naming, .text)
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
            shown.map(\.delivery), named: name, configuration.neededSealingKeys(), database)
          try noteUnsealing(of: shown, because: reason, invocation, database, at: now)
        }
        let opened = messages
        return Answer(
          text: shown.map { $0.text(message: opened[$0.delivery.number]) }.joined(separator: "\n"),
          json: ["deliveries": .array(shown.map { $0.json(message: opened[$0.delivery.number]) })])
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
