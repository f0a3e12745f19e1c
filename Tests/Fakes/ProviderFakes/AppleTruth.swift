package import Base

/// What really was sold by one subscription: the oracle that a reader's conclusions are held against.
package struct AppleTruth: Sendable {
  package let originalTransactionID: String
  package let account: Identifier?
  /// Paid for, or given by the store (a trial, extended time), less what was refunded.
  package let paid: [Period]
  /// In which the store keeps access though billing failed.
  package let graces: [Period]

  package struct Period: Hashable, Sendable {
    package let productID: String
    package let transactionID: String
    package let from: Instant
    package let to: Instant
  }

  /// Whether the customer has, or had, a right to the product, by money or by the store's grace.
  package func isOwed(_ productID: String, at now: Instant) -> Bool {
    (paid + graces).contains { $0.productID == productID && $0.from <= now && now < $0.to }
  }
}

/// What is written down whenever something is sold: no transaction or status is ever asked for it.
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
    /// When something better took its place.
    var exchangedAt: Instant?
    /// When the money went back, or the family's gift.
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

  /// Grace is over for whatever reason; nothing where there is none.
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
