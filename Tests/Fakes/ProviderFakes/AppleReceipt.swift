/// What Apple's mails to customers show and nothing else does.
package enum AppleReceipt {
  /// The number of the order that a transaction was bought by.
  package static func order(of transaction: String) -> String {
    "MK" + String(UInt64(transaction) ?? 0, radix: 36, uppercase: true)
  }
}
