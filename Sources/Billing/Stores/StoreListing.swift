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

/// Which page of a listing to read.
package struct StorePageRequest: Sendable {
  package let listing: StoreListing
  /// What happened before is not asked for; nil: everything that the store remembers.
  package let since: Instant?
  /// When the run began: what happens later is left to the next one.
  package let until: Instant
  /// Where the page before ended, as it said; nil: the first.
  package let place: String?

  package init(_ listing: StoreListing, since: Instant?, until: Instant, place: String?) {
    self.listing = listing
    self.since = since
    self.until = until
    self.place = place
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
