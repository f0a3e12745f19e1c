/// Data that only Apple's mails to customers show.
package enum AppleReceipt {
  /// The number of the order of a transaction.
  package static func order(of transaction: String) -> String {
    "MK" + String(UInt64(transaction) ?? 0, radix: 36, uppercase: true)
  }
}
