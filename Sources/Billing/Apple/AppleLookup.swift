import Base
import JSON
package import ProviderAPI
import Stores
package import Subscriptions
import Tiers

extension AppleStore {
  /// Receipts that Apple sends by e-mail have a number that no transaction has.
  /// https://developer.apple.com/documentation/appstoreserverapi/look-up-order-id
  package func subscriptions(boughtBy order: String) throws(APIFailure) -> [ObjectKey]? {
    guard Self.isOrder(order) else { return nil }
    // The sandbox sends no receipts.
    guard let all = apis[.live] else { throw Self.withoutKey }
    for api in all {
      let keys = try api.subscriptions(boughtBy: order)
      if !keys.isEmpty { return keys }
    }
    return []
  }

  /// Whether the text looks like an order: M followed by letters and digits in upper case.
  private static func isOrder(_ text: String) -> Bool {
    8...24 ~= text.utf8.count && text.utf8.first == UInt8(ascii: "M")
      && text.utf8.allSatisfy {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
      }
  }
}

extension AppleAPI {
  fileprivate func subscriptions(boughtBy order: String) throws(APIFailure) -> [ObjectKey] {
    let json = try send("GET", "/inApps/v1/lookup/\(PercentEncoding.encode(order))").object()
    let texts = try malformed { () throws(JSONError) -> [String] in
      guard try json["status"].requireInteger() == 0 else { return [] }
      return try json["signedTransactions"].requireArray().map { (text) throws(JSONError) in
        try text.requireString()
      }
    }
    var keys: Set<ObjectKey> = []
    for text in texts { keys.insert(try AppleReading(self).subscription(of: text)) }
    return keys.sorted()
  }
}
