package import Accounts
package import Base
import Requests
package import Storage
package import Tiers

/// Changes of an account's links. The account's row must be locked.
package struct LinkWrite {
  private let transaction: Transaction
  private let owner: Identifier
  private let catalogue: Catalogue
  private let now: Instant

  package init(
    _ transaction: Transaction, of owner: Identifier, catalogue: Catalogue, now: Instant
  ) {
    self.transaction = transaction
    self.owner = owner
    self.catalogue = catalogue
    self.now = now
  }

  /// Refuses a content that has no room. `former` is the link as it is.
  func requireRoom(
    for byteCount: Int64, insteadOf former: PublicLink?, _ locked: LockedOwner, reserved: Int64
  ) throws {
    if former == nil {
      let count = try PublicLink.weight(transaction, of: owner).recordCount
      guard count < PublicLink.countMax else {
        throw LinkRefusal.tooManyLinks(max: PublicLink.countMax)
      }
    }
    let limits = try Cap(transaction, owner, catalogue: catalogue, now: now).limits(catalogue)
    try locked.requireSize(byteCount, insteadOf: former?.byteCount ?? 0, limits)
    try locked.requireRoom(
      for: growth(to: byteCount, from: former), reserved: reserved, askedBy: owner, transaction,
      catalogue: catalogue, now: now)
  }

  /// A link is charged as a record.
  private func charge(of byteCount: Int64) -> Int64 { catalogue.metadataFeeByteCount + byteCount }

  private func growth(to byteCount: Int64, from former: PublicLink?) -> Int64 {
    charge(of: byteCount) - (former.map { charge(of: $0.byteCount) } ?? 0)
  }

  /// Stores a content in place of the former one, once its object is durable. Returns the link, and a new one's token.
  func put(
    _ object: Identifier, byteCount: Int64, as id: Identifier, _ terms: LinkTerms,
    insteadOf former: PublicLink?, _ owners: inout LockedOwners
  ) throws -> (link: PublicLink, token: LinkToken?) {
    try requireRoom(for: byteCount, insteadOf: former, owners.require(owner), reserved: 0)
    let number = try owners.charge(
      owner, growth(to: byteCount, from: former), records: former == nil ? 1 : 0,
      reason: former == nil ? .recordCreated : .contentChanged, file: id, for: .links)
    try owners.save(transaction, now: now)
    let version = History.version(after: former?.version ?? 0, at: number)
    let token = former == nil ? LinkToken.random() : nil
    if let token {
      try transaction.execute(
        """
        INSERT INTO sync.public_links
          (owner_id, id, token_hash, seq, version, object_id, content_bytes, cache_seconds,
           created_ms, expires_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """, .id(owner), .id(id), .blob(token.hash), .integer(number), .integer(version),
        .id(object), .integer(byteCount), .integer(terms.cacheSeconds), .instant(now),
        .instant(terms.expires))
    } else {
      try transaction.execute(
        """
        UPDATE sync.public_links SET seq = $3, version = $4, object_id = $5,
          content_bytes = $6, cache_seconds = $7, expires_ms = $8
        WHERE owner_id = $1 AND id = $2
        """, .id(owner), .id(id), .integer(number), .integer(version), .id(object),
        .integer(byteCount), .integer(terms.cacheSeconds), .instant(terms.expires))
    }
    if let former {
      try Garbage.add(
        transaction, former.object, of: owner, byteCount: former.byteCount, since: now)
    }
    guard let link = try PublicLink.find(transaction, id, of: owner) else {
      throw LinkRefusal.linkNotFound
    }
    return (link, token)
  }

  /// Gives a link another token. The one before ends at once.
  func renewToken(of id: Identifier, _ owners: inout LockedOwners) throws -> LinkToken {
    let token = LinkToken.random()
    let count = try transaction.execute(
      """
      UPDATE sync.public_links SET token_hash = $3
      WHERE owner_id = $1 AND id = $2 AND (expires_ms IS NULL OR expires_ms > $4)
      """, .id(owner), .id(id), .blob(token.hash), .instant(now))
    guard count == 1 else { throw LinkRefusal.linkNotFound }
    _ = try owners.change(owner) { $0.nextSequence(for: .links) }
    try owners.save(transaction, now: now)
    return token
  }

  /// Ends links at once, and hands their contents to the sweeper. `quietly`: no device is woken by it.
  package func end(
    _ links: [PublicLink], quietly: Bool = false, _ owners: inout LockedOwners
  ) throws {
    for link in links {
      try transaction.execute(
        "DELETE FROM sync.public_links WHERE owner_id = $1 AND id = $2", .id(owner), .id(link.id))
      try Garbage.add(transaction, link.object, of: owner, byteCount: link.byteCount, since: now)
      try owners.charge(
        owner, -charge(of: link.byteCount), records: -1, reason: .recordDeleted, file: link.id,
        for: .links, quietly: quietly)
    }
    try owners.save(transaction, now: now)
  }
}
