package import Answers
package import Base
package import Stores

/// All deliveries that could not be decoded when they came, one by one. Each that can be decoded now gets a
/// transaction of its own.
package struct ReplayRound {
  private let redecoder: Redecoder
  private let now: Instant
  private let noting: Redecoder.Noting?

  package private(set) var count = 0
  package private(set) var readCount = 0
  /// The accounts whose schedules are different.
  package private(set) var accounts: Set<Identifier> = []
  /// The first 1000 of the deliveries.
  package private(set) var listed: [Listed] = []

  package struct Listed {
    package let delivery: DeliverySummary
    package let type: String
    /// What it became.
    package let disposition: DecodedDelivery.Disposition
  }

  private static let listedCountMax = 1000

  /// Without `noting` nothing is changed.
  package init(_ redecoder: Redecoder, at now: Instant, noting: Redecoder.Noting?) {
    (self.redecoder, self.now, self.noting) = (redecoder, now, noting)
  }

  package mutating func take(_ delivery: DeliverySummary) throws {
    count += 1
    let again = try decodable(delivery)
    if let again {
      accounts.formUnion(try redecoder.replay(again, at: now, noting: noting).accounts)
      readCount += 1
    }
    guard listed.count < Self.listedCountMax else { return }
    listed.append(
      Listed(
        delivery: delivery, type: again?.decoded.type ?? delivery.type,
        disposition: again?.decoded.disposition ?? .undecodable))
  }

  private func decodable(_ delivery: DeliverySummary) throws -> RedecodedDelivery? {
    do {
      let again = try redecoder.decoded(delivery)
      return again.decoded.disposition == .undecodable ? nil : again
    } catch is UnreadableDelivery {
      return nil
    }
  }
}
