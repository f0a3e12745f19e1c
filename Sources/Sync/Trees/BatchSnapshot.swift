package import Base

/// Everything that the rules need to judge a batch, read beforehand: a value, without a database. `BatchLoader`
/// derives from the changes what the rules can need. Anything else is not loaded.
package struct BatchSnapshot: Sendable {
  /// A name in a folder.
  package struct Place: Hashable, Sendable {
    let parent: Identifier
    let hmac: [UInt8]

    package init(parent: Identifier, hmac: [UInt8]) {
      self.parent = parent
      self.hmac = hmac
    }
  }

  package struct ShareCounts: Sendable {
    /// Pending and accepted shares.
    package var live: Int64 = 0
    /// All shares ever granted, as far as they were counted.
    package var all = 0

    package init() {}
  }

  /// The changed files, their folders, the targets of links, and shared files, with everything above.
  package var tree: AncestorTree
  /// The changed files that exist.
  package var records: [Identifier: FileRecord] = [:]
  /// Ids of new files that once belonged to forgotten files whose links remain.
  package var rememberedIDs: Set<Identifier> = []
  /// The live files that hold names which the batch gives.
  package var nameHolders: [Place: Identifier] = [:]
  /// The counted levels below folders whose heights are in doubt; nil if there are too many files to count.
  package var countedHeights: [Identifier: Int64?] = [:]
  /// By owner: links that are not explicitly deleted.
  package var links: [Identifier: [(id: Identifier, target: Identifier)]] = [:]
  /// Owners whose trees the caller sees.
  package var seenOwners: Set<Identifier> = []
  /// The states of the shares that the batch changes.
  package var shareStates: [Share.Statement.Key: Share.State] = [:]
  package var shareCounts: [Identifier: ShareCounts] = [:]
  /// By sharee: its live shares of the caller's files.
  package var sharesBetween: [Identifier: Int64] = [:]
  /// Recipients of the batch that already share with the caller.
  package var contacts: Set<Identifier> = []
  /// Recipients of the batch that have blocked the caller.
  package var blockers: Set<Identifier> = []
  /// How many invitations may still wait for an answer, and how many each receiver accepts; nil if not limited.
  package var invitationRoom: (sent: Int, received: [Identifier: Int64])?
  /// The accounts invited to a file that the batch changes.
  package var invitees: Set<Identifier> = []
  /// The sequence numbers of the accounts that the batch may involve; one that does not exist has none.
  package var numbers: [Identifier: Int64] = [:]

  package init(seenBy caller: Identifier) { tree = AncestorTree(seenBy: caller) }

  var caller: Identifier { tree.account }

  /// Whether a grant would invite an account that the caller shares nothing with.
  func invitesStranger(_ statement: Share.Statement) -> Bool {
    statement.isGrant && shareStates[statement.key]?.isLive != true
      && !contacts.contains(statement.account)
  }
}
