import Acts
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Subscriptions
import Tiers

extension Command {
  private static let purchase = Parameter<NamedSubscription>.required(
    "subscription", text: NamedSubscription.help, .subscription)

  static let subscriptionRead = Command(
    words: ["subscription", "read"],
    abstract: "Read a subscription from its store now",
    discussion: """
      A running coffer-billing reads it within a second, with everything that belongs to it. The \
      subscription can be unknown: use this for one that began before Coffer or lost every delivery. An \
      unknown Google purchase is read by its token, which is stored sealed (COFFER_SEALING_KEYS). A BTCPay \
      server lists invoices by account: name them btcpay:live:prepaid:<account>.
      """,
    examples: ["coffer subscription read stripe:live:subscription:sub_1Qx8y"],
    arguments: [purchase],
    options: Act.handyOptions,
    answers: Act.handyAnswers(["asked": .list(.text)]),
    run: { invocation in
      let wanted = invocation[purchase]
      return try DatabaseSession.with(invocation, owning: .billing) { database, configuration in
        let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
        let named = try wanted.purchase(ledger)
        let sealing = configuration.sealingKeys
        return try Act(invocation, on: database).atOnce(at: now) { transaction in
          let keys = try ledger.subscriptions(named: named, reading: transaction)
          guard !keys.isEmpty else {
            throw CommandFailure(
              .refused, "there is no record of \(named.object): name its subscription")
          }
          let payload = try named.payload(sealing, reading: transaction)
          for key in keys {
            switch try ledger.read(key, payload: payload, at: now, in: transaction) {
            case .asked: break
            case .withoutKey:
              throw CommandFailure(.refused, unread(key, ledger))
            case .withoutToken:
              throw CommandFailure(
                .refused,
                "there is no record of \(key): give its token, or let the app post the purchase again"
              )
            }
          }
          let names = keys.map(\.description)
          return Act.Effect(
            subject: names.joined(separator: ", "), before: .object([]),
            after: ["asked": .bool(true)],
            text: names.map { "\($0) is queued for reading; see coffer jobs list\n" }.joined(),
            members: [.init("asked", .array(names.map { .string($0) }))])
        }
      }
    })

  private static func unread(_ key: ObjectKey, _ ledger: Ledger) -> String {
    let environment = ledger.rules.grantingEnvironment
    let granting = ObjectKey(
      provider: key.provider, environment: environment, kind: key.kind, id: key.id)
    guard ledger.isReadable(granting) else {
      return "\(key.provider.rawValue) cannot be queried: no key of its API is configured"
    }
    return "\(key) cannot be read: the key of its store's API is for the "
      + "\(environment.rawValue) environment"
  }
}
