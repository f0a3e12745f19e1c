package import CommandLine
package import Configuration
import ProviderAPI
import Stores
package import Subscriptions

/// Asks stores for the purchases of an order, by a number that only its customer has.
package struct ReceiptLookup {
  private let stores: StoreList

  package init(_ invocation: Invocation, _ configuration: DatabaseConfiguration) throws {
    stores = try StoreList.configured(invocation.settings, clock: configuration.clock)
  }

  /// Nil if the text is not such a number, or if no store that has them is configured.
  package func bought(by order: String) throws(CommandFailure) -> [ObjectKey]? {
    for store in stores where store.isReadable {
      do throws(APIFailure) {
        if let keys = try store.subscriptions(boughtBy: order) { return keys }
      } catch {
        let code: ExitCode =
          switch error {
          case .misconfigured: .configuration
          case .transient, .malformed: .unavailable
          case .refused, .gone, .notFound: .refused
          }
        throw CommandFailure(code, "\(store.traits.title): \(error)")
      }
    }
    return nil
  }

  /// The failure for an order of which nothing is known here.
  package static func failure(_ order: String, _ bought: [ObjectKey]) -> CommandFailure {
    let order = Printable.text(order)
    guard let key = bought.first else {
      return CommandFailure(.refused, "the App Store knows no order \(order) of this app")
    }
    return CommandFailure(
      .refused,
      "the order \(order) is of \(key), which has no record: coffer subscription read \(key.id)"
    )
  }
}
