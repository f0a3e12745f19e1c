internal import Base
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Stores
internal import Subscriptions

extension Command {
  private static let subscription = Parameter<String>.required(
    "subscription",
    text: "its key, e.g. stripe:live:subscription:sub_1; of Stripe's the id is enough", .text)

  static let subscriptionRead = Command(
    words: ["subscription", "read"],
    abstract: "Has a subscription read from its store, known or not.",
    discussion: """
      A running coffer-billing reads it within a second, with all that hangs on it. It need not \
      have heard of it before: so subscriptions come in that began before Coffer did. A Google \
      purchase must be known, as its token is not told by any list.
      """,
    arguments: [subscription],
    answers: ["asked": .text],
    run: { invocation in
      let text = invocation[subscription]
      return try DatabaseSession.with(invocation, owning: .billing) { database, configuration in
        let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
        let environment = ledger.rules.grantingEnvironment
        guard let key = StoreList.known.subscriptionKey(text, in: environment) else {
          throw CommandFailure(
            .usage, "\(text) names no subscription, e.g. stripe:live:subscription:sub_1")
        }
        switch try database.write(for: nil, { try ledger.read(key, at: now, in: $0) }) {
        case .asked: break
        case .withoutKey:
          throw CommandFailure(
            .refused, "\(key.provider.rawValue) is never asked: no key of its API is configured")
        case .withoutToken:
          throw CommandFailure(
            .refused, "nothing is known of \(key): have its app post the purchase again")
        }
        return Answer(
          text: "\(key) is read next; coffer jobs list shows it until then\n",
          json: ["asked": .string(key.description)])
      }
    })
}
