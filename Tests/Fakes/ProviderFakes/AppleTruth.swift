package import Base

/// What one subscription really sold: the oracle that a reader's conclusions are compared with.
package struct AppleTruth: Sendable {
  package let originalTransactionID: String
  package let account: Identifier?
  /// Paid, or given by the store (a trial, extended time), less refunds.
  package let paid: [Period]
  /// Periods in which the store keeps access although billing failed.
  package let graces: [Period]

  package struct Period: Hashable, Sendable {
    package let productID: String
    package let transactionID: String
    package let from: Instant
    package let to: Instant
  }

  /// Whether the customer has, or had, a right to the product, by payment or by the store's grace.
  package func isOwed(_ productID: String, at now: Instant) -> Bool {
    (paid + graces).contains { $0.productID == productID && $0.from <= now && now < $0.to }
  }
}

/// A record of every sale. Transactions and statuses are never consulted for it.
struct AppleSalesOracle: Sendable {
  private var entries: [Entry] = []
  private var graces: [Entry] = []

  struct Entry: Sendable {
    let original: String
    let account: Identifier?
    let productID: String
    let transaction: String
    let from: Instant
    var to: Instant
    /// When a better product replaced it.
    var exchangedAt: Instant?
    /// When the payment, or the family's share, was taken back.
    var takenBackAt: Instant?

    var end: Instant {
      max(from, min(to, exchangedAt ?? .distantFuture, takenBackAt ?? .distantFuture))
    }
  }

  mutating func sell(_ entry: Entry) { entries.append(entry) }
  mutating func exchange(_ transaction: String, at now: Instant) {
    change(transaction) { $0.exchangedAt = now }
  }
  mutating func takeBack(_ transaction: String, at now: Instant) {
    change(transaction) { $0.takenBackAt = now }
  }
  mutating func giveBack(_ transaction: String) { change(transaction) { $0.takenBackAt = nil } }
  mutating func extend(_ transaction: String, to end: Instant) {
    change(transaction) { $0.to = end }
  }

  private mutating func change(_ transaction: String, _ body: (inout Entry) -> Void) {
    for index in entries.indices where entries[index].transaction == transaction {
      body(&entries[index])
    }
  }

  mutating func grant(grace entry: Entry) { graces.append(entry) }

  /// Ends the grace for whatever reason, if there is one.
  mutating func endGrace(of original: String, at now: Instant) {
    for index in graces.indices where graces[index].original == original {
      graces[index].to = min(graces[index].to, now)
    }
  }

  func truth(of original: String, _ account: Identifier?) -> AppleTruth {
    AppleTruth(
      originalTransactionID: original, account: account, paid: Self.periods(entries, original),
      graces: Self.periods(graces, original))
  }

  private static func periods(_ entries: [Entry], _ original: String) -> [AppleTruth.Period] {
    entries.filter { $0.original == original && $0.from < $0.end }.map {
      AppleTruth.Period(
        productID: $0.productID, transactionID: $0.transaction, from: $0.from, to: $0.end)
    }
  }
}
