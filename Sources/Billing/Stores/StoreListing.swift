package import Base
package import ProviderAPI
package import Subscriptions
package import Tiers

/// A list that a store keeps of what it told, or of what there is, gone through page by page.
package struct StoreListing: Sendable, Equatable {
  /// Kept in rows: the same for ever.
  package let name: String
  package let environment: StoreEnvironment
  package let content: Content
  /// How far back the store remembers; nil: for ever.
  package let memory: Instant.Span?

  package enum Content: Sendable, Equatable {
    /// What webhooks were, or should have been, told.
    case deliveries
    /// What there is: an object that is known otherwise is read.
    case objects
  }

  package init(
    _ name: String, _ environment: StoreEnvironment, of content: Content,
    memory: Instant.Span? = nil
  ) {
    self.name = name
    self.environment = environment
    self.content = content
    self.memory = memory
  }
}

extension StoreListing {
  /// Whether it no longer tells, by `now`, all that happened since then; nil: ever.
  package func isForgotten(since: Instant?, at now: Instant) -> Bool {
    guard let memory else { return false }
    return (since ?? .distantPast) < now - memory
  }

  private static let proofPrefix = "listed by "

  /// How the proof of what a store's own list showed is named, as `Delivery.proof` is; `signature` is
  /// the proof that the entry itself has, if it has one.
  package static func proof(by store: String, _ signature: String? = nil) -> String {
    proofPrefix + "\(store)'s API" + (signature.map { ", \($0)" } ?? "")
  }

  package static func isProof(_ proof: String) -> Bool { proof.hasPrefix(proofPrefix) }
}

/// Which page of a listing to read.
package struct StorePageRequest: Sendable {
  package let listing: StoreListing
  /// What happened before is not asked for; nil: everything. Never before what the store remembers as of
  /// `until`.
  package let since: Instant?
  /// When the run began: what happens later is left to the next one.
  package let until: Instant
  /// Where the page before ended, as it said; nil: the first.
  package let place: String?

  /// A store's clock is not ours, and what was begun takes its time.
  private static let margin = Instant.Span.days(1)

  package init(_ listing: StoreListing, since: Instant?, until: Instant, place: String?) {
    let oldest = listing.memory.map { until - $0 + Self.margin }
    self.listing = listing
    self.since = [since, oldest].compactMap(\.self).max()
    self.until = until
    self.place = place
  }

  /// Whether the store no longer remembers, by `now`, how what is asked for began; some refuse to tell the rest.
  package func isForgotten(at now: Instant) -> Bool {
    listing.isForgotten(since: since, at: now)
  }
}

/// A page of a listing.
package struct StorePage: Sendable {
  package let items: [Item]
  /// Where the next page begins; nil behind the last.
  package let next: String?

  package enum Item: Sendable {
    /// What a webhook would have brought, and its body.
    case delivery(Delivery, body: [UInt8])
    /// What it shows of something, and what to read where something else is known of it.
    case object(ObjectKey, shown: [Fact])
    /// Of that kind, and not to be read.
    case unreadable
  }

  package init(items: [Item], next: String?) {
    self.items = items
    self.next = next
  }
}

extension Store {
  package var listings: [StoreListing] { [] }

  package func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    throw .misconfigured("there is no such list")
  }
}
