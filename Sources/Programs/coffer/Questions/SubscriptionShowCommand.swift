import Acts
import Answers
import Base
import CommandLine
import Configuration
import KnownStores
import Ledger
import Storage
import Subscriptions
import Tiers

extension Command {
  private static let number = Parameter<String>.required(
    "number", text: "any number of the purchase, from its store or its customer", .text)
  private static let wide = Parameter<Bool>.flag("--wide", text: "do not shorten ids, as in a pipe")

  static let subscriptionShow = Command(
    words: ["subscription", "show"],
    abstract: "Show a purchase: owner, payments, evidence and deliveries",
    discussion: """
      Accepts any number of a store: subscription, invoice, charge, payment, refund, dispute, transaction, \
      order, purchase token or delivery. The order number of an Apple receipt, such as MK5TTTVWJH, is \
      looked up at the App Store.

      You see the owner and the evidence, former owners, the account that the store names, its customer, \
      refused claims, payments and refunds, entitled periods, history, operators' orders and the newest 20 \
      deliveries. Nothing is changed.
      """,
    examples: ["coffer subscription show in_1Qx8y"],
    arguments: [number],
    options: [wide],
    answers: ShownSubscription.listing.item,
    run: { invocation in
      let text = QuotedText.bare(QuotedText.plain(invocation[number]))
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
        func named(_ text: String) throws -> [ObjectKey] {
          try database.read { reader in
            try Finding.subscriptions(
              named: text, of: ledger, key: configuration.searchKey, reading: reader)
          }
        }
        var keys = try named(text)
        if keys.isEmpty, let bought = try ReceiptLookup(invocation, configuration).bought(by: text)
        {
          keys = try bought.flatMap { try named($0.description) }
          guard !keys.isEmpty else { throw ReceiptLookup.failure(text, bought) }
        }
        guard let key = keys.first, keys.count == 1 else { throw failure(text, keys) }
        let (found, catalogue) = try database.read { reader in
          (
            try ShownSubscription(key, at: now, ledger, reading: reader),
            try ledger.catalogue(reading: reader)
          )
        }
        guard let found else {
          throw CommandFailure(
            .refused,
            "\(key) is not derived yet: coffer subscription read asks its store")
        }
        return Answer(
          text: found.text(
            fallbackPlanID: catalogue.fallbackPlanID,
            isWide: invocation[wide] || !Terminal.isOutput),
          json: ShownSubscription.listing.json(found))
      }
    })

  private static func failure(_ text: String, _ keys: [ObjectKey]) -> CommandFailure {
    let text = Printable.text(text)
    guard !keys.isEmpty else {
      return CommandFailure(
        .refused, "there is no purchase \(text); coffer find \(text) also searches accounts")
    }
    let names = keys.prefix(5).map(\.description).joined(separator: ", ")
    return CommandFailure(
      .refused, "\(keys.count) purchases are known by \(text): name one, as \(names)")
  }
}
