package import Base

/// All that the rules ask of a batch, read before they judge it: a value, without a database.
///
/// What is not there was not asked for: `BatchLoader` knows from the changes what can be.
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

  /// Shares of one file.
  package struct ShareCounts: Sendable {
    /// Pending and accepted ones.
    package var live: Int64 = 0
    /// All that were ever granted, as far as they were counted.
    package var all = 0

    package init() {}
  }

  /// A link that is not explicitly deleted.
  package struct Link: Sendable {
    let id: Identifier
    let target: Identifier

    package init(id: Identifier, target: Identifier) {
      self.id = id
      self.target = target
    }
  }

  /// What an account that may write to few strangers may still send.
  package struct InvitationRoom: Sendable {
    /// Invitations that may still wait for an answer.
    package var sent: Int
    /// How many each receiver still takes.
    package var received: [Identifier: Int64]

    package init(sent: Int, received: [Identifier: Int64]) {
      self.sent = sent
      self.received = received
    }
  }

  /// The changed files, what they lie in, what links lead to, what is shared, with all above.
  package var tree: AncestorTree
  /// The changed files that exist.
  package var records: [Identifier: FileRecord] = [:]
  /// Ids of new files that forgotten ones had, whose links are left.
  package var rememberedIDs: Set<Identifier> = []
  /// The live files that have names which the batch gives.
  package var nameHolders: [Place: Identifier] = [:]
  /// The levels that were counted beneath folders whose heights are in doubt; nil where too many files
  /// are there to count.
  package var countedHeights: [Identifier: Int64?] = [:]
  /// By owner.
  package var links: [Identifier: [Link]] = [:]
  /// Owners whose trees the caller sees.
  package var seenOwners: Set<Identifier> = []
  /// The shares that the batch speaks of.
  package var shareStates: [Share.Statement.Key: Share.State] = [:]
  package var shareCounts: [Identifier: ShareCounts] = [:]
  /// By sharee: its live shares of the caller's files.
  package var sharesBetween: [Identifier: Int64] = [:]
  /// Sharees of the batch that share with the caller already.
  package var contacts: Set<Identifier> = []
  /// Sharees of the batch that take no invitation of the caller.
  package var blockers: Set<Identifier> = []
  /// Nil for an account that may invite whom it likes.
  package var invitationRoom: InvitationRoom?
  /// Who is invited to a file that the batch changes.
  package var invitees: Set<Identifier> = []
  /// Where the accounts stand that the batch may concern; there is no other account among those that
  /// it names.
  package var numbers: [Identifier: Int64] = [:]

  package init(seenBy caller: Identifier) { tree = AncestorTree(seenBy: caller) }

  var caller: Identifier { tree.account }

  /// Whether a grant would invite somebody whom the caller has nothing to do with.
  func invitesStranger(_ statement: Share.Statement) -> Bool {
    statement.isGrant && shareStates[statement.key]?.isLive != true
      && !contacts.contains(statement.account)
  }
}
