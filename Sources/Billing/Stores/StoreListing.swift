package import Base
package import Subscriptions
package import Tiers

/// A list that a store keeps of its reports or of its objects, read page by page.
package struct StoreListing: Sendable, Equatable {
  /// Stored in rows, so it must never change.
  package let name: String
  package let environment: StoreEnvironment
  package let content: Content
  /// How far back the list reaches; nil: without limit.
  package let memory: Instant.Span?

  package enum Content: Sendable, Equatable {
    /// What webhooks delivered, or should have delivered.
    case deliveries
    /// The existing objects. An object is read if it differs from what is known.
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
  /// Whether the list at `now` no longer holds everything that happened since `since`; nil: since ever.
  package func isForgotten(since: Instant?, at now: Instant) -> Bool {
    guard let memory else { return false }
    return (since ?? .distantPast) < now - memory
  }

  private static let proofPrefix = "listed by "

  /// The name of the proof for an entry of a store's own list, in the form of `Delivery.proof`.
  /// `signature` is the entry's own proof, if it has one.
  package static func proof(by store: String, _ signature: String? = nil) -> String {
    proofPrefix + "\(store)'s API" + (signature.map { ", \($0)" } ?? "")
  }

  package static func isProof(_ proof: String) -> Bool { proof.hasPrefix(proofPrefix) }
}

/// The page of a listing to read.
package struct StorePageRequest: Sendable {
  package let listing: StoreListing
  /// The start of what is requested, which the store still remembers at `until`; nil: everything.
  package let since: Instant?
  /// When the run began. What happens later is left to the next run.
  package let until: Instant
  /// Where the previous page ended, as its answer said; nil: the first page.
  package let place: String?

  /// A store's clock differs from ours, and a run takes time.
  private static let margin = Instant.Span.days(1)

  package init(_ listing: StoreListing, since: Instant?, until: Instant, place: String?) {
    let oldest = listing.memory.map { until - $0 + Self.margin }
    self.listing = listing
    self.since = [since, oldest].compactMap(\.self).max()
    self.until = until
    self.place = place
  }

  /// Whether the store no longer remembers the start of what is requested. Some then refuse the rest, too.
  package func isForgotten(at now: Instant) -> Bool {
    listing.isForgotten(since: since, at: now)
  }
}

/// A page of a listing.
package struct StorePage: Sendable {
  package let items: [Item]
  /// Where the next page begins; nil after the last.
  package let next: String?

  package enum Item: Sendable {
    /// What a webhook would have delivered, with its body.
    case delivery(Delivery, body: [UInt8])
    /// An object, what the list shows of it, and what to read if something different is known.
    case object(ObjectKey, shown: [Fact])
    /// An entry of this kind that cannot be read.
    case unreadable
  }

  package init(items: [Item], next: String?) {
    self.items = items
    self.next = next
  }
}
