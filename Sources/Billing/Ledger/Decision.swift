package import Base
internal import Crypto
internal import JSON
package import Storage
internal import Stores
package import Subscriptions
package import Tiers

/// Something we decided ourselves: kept for ever like a delivery, never edited.
package enum Decision: Sendable {
  /// A plan for a time, whatever anybody pays; `until` nil is without end.
  case grant(Identifier, planID: String, from: Instant, until: Instant?, note: String)
  /// Takes a grant back from then on, by its id.
  case ungrant(Identifier, grant: Identifier, note: String)
  /// A cap in place of what everything else gives, from then until `until`; nil is without end.
  case quota(Identifier, byteCount: Int64, until: Instant?, note: String)
  /// Ends the quota that was set last.
  case quotaCleared(Identifier, note: String)
  /// The account's accepted word that a purchase is its own.
  case claim(Identifier, ObjectKey)
  /// An admin's word whose a purchase is.
  case transfer(Identifier, ObjectKey, note: String)
  /// The account is gone; what it owned is nobody's.
  case accountDeleted(Identifier)

  var kind: String {
    switch self {
    case .grant: "grant"
    case .ungrant: "ungrant"
    case .quota: "quota"
    case .quotaCleared: "quota_cleared"
    case .claim: "claim"
    case .transfer: "transfer"
    case .accountDeleted: "account_deleted"
    }
  }

  package var account: Identifier {
    switch self {
    case .grant(let account, _, _, _, _), .ungrant(let account, _, _),
      .quota(let account, _, _, _), .quotaCleared(let account, _), .claim(let account, _),
      .transfer(let account, _, _), .accountDeleted(let account):
      account
    }
  }

  /// What its admin wrote beside it; nil where none did.
  package var note: String? {
    switch self {
    case .grant(_, _, _, _, let note), .ungrant(_, _, let note), .quota(_, _, _, let note),
      .quotaCleared(_, let note), .transfer(_, _, let note):
      note
    case .claim, .accountDeleted: nil
    }
  }

  var object: ObjectKey? {
    switch self {
    case .claim(_, let object), .transfer(_, let object, _): object
    case .grant, .ungrant, .quota, .quotaCleared, .accountDeleted: nil
    }
  }

  var content: JSONValue {
    switch self {
    case .grant(_, let plan, let from, let until, let note):
      [
        "plan": .string(plan), "from": .integer(from.milliseconds),
        "until": until.map { .integer($0.milliseconds) } ?? .null, "note": .string(note),
      ]
    case .ungrant(_, let grant, let note):
      ["grant": .string(grant.description), "note": .string(note)]
    case .quota(_, let byteCount, let until, let note):
      [
        "bytes": .integer(byteCount), "until": until.map { .integer($0.milliseconds) } ?? .null,
        "note": .string(note),
      ]
    case .quotaCleared(_, let note), .transfer(_, _, let note): ["note": .string(note)]
    case .claim, .accountDeleted: .object([])
    }
  }
}

extension Decision {
  package static let noteByteCountMax = 1000

  /// Why nobody can decide this under a catalogue, now or ever; nil where it can be.
  ///
  /// `now` tells what is over: a plan that was granted then may be gone.
  package func refusal(under catalogue: Catalogue, at now: Instant) -> String? {
    if let note, note.utf8.count > Self.noteByteCountMax {
      return "its reason is longer than \(Self.noteByteCountMax) bytes"
    }
    let times: [Instant]
    switch self {
    case .grant(_, let plan, let from, let until, _):
      guard until.map({ $0 <= now }) ?? false || catalogue.plan(plan) != nil else {
        return "there is no plan \(plan.prefix(60))"
      }
      times = [from] + (until.map { [$0] } ?? [])
    case .quota(_, let byteCount, let until, _):
      guard byteCount >= 0 else { return "a quota is never \(byteCount) bytes" }
      times = until.map { [$0] } ?? []
    case .accountDeleted: return "it ends the account that comes"
    case .ungrant, .quotaCleared, .claim, .transfer: times = []
    }
    // The years 1970 to 9999.
    let range = Instant(milliseconds: 0)...Instant(milliseconds: 253_402_300_799_999)
    return times.allSatisfy(range.contains) ? nil : "it names a time that no clock shows"
  }
}

extension Ledger {
  /// Waits for whoever writes to the ledger: what is read after it holds until the transaction ends. The
  /// first lock of a transaction that decides by what it reads.
  package static func lockSequence(in transaction: Transaction) throws {
    try DeliveryRow.lockSequence(in: transaction)
  }

  /// Keeps a decision and derives what follows from it; returns its id and sequence.
  @discardableResult
  package func decide(
    _ decision: Decision, at now: Instant, in transaction: Transaction
  ) throws -> (id: Identifier, sequence: Int64) {
    let id = Random.identifier()
    let sequence = try DeliveryRow.nextNumber(in: transaction)
    try keep(decision, as: id, sequence: sequence, at: now, in: transaction)
    try RefusedClaims.settle(decision, in: transaction)
    try derive(
      try affected(by: decision, reading: transaction), cause: .owner, entry: sequence, at: now,
      in: transaction)
    switch decision {
    case .accountDeleted:
      try PendingClaims.removeAll(of: decision.account, in: transaction)
      try schedule(decision.account, at: now, in: transaction)
    case .grant, .ungrant, .quota, .quotaCleared:
      try schedule(decision.account, at: now, in: transaction)
    case .claim, .transfer: break
    }
    return (id, sequence)
  }

  /// Writes its row, once.
  func keep(
    _ decision: Decision, as id: Identifier, sequence: Int64, at moment: Instant,
    in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.decisions (id, sequence, kind, account_id, object, decided_ms, content)
      VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING
      """, .id(id), .integer(sequence), .text(decision.kind), .id(decision.account),
      .text(decision.object?.description), .instant(moment),
      .text(String(decoding: decision.content.encoded(), as: UTF8.self)))
  }

  /// Whether its store ever told anything of a subscription.
  package func knows(_ key: ObjectKey, reading database: some Queryable) throws -> Bool {
    guard try SubscriptionRow(key, reading: database) != nil else { return false }
    // Its own mirrors: decisions about it prove nothing.
    return try !stores.store(of: key).traits.readsBySecret
      || !reading(database).mirrors(of: key).isEmpty
  }

  /// Whether an account ever had anything to do with a subscription or a grant.
  package func knows(_ account: Identifier, reading database: some Queryable) throws -> Bool {
    try database.first(
      """
      SELECT 1 FROM billing.decisions WHERE account_id = $1
      UNION ALL SELECT 1 FROM billing.subscriptions WHERE owner = $1
      UNION ALL SELECT 1 FROM billing.transitions
        WHERE cause = 'owner' AND state_before <> 'none' AND state_before = $2 LIMIT 1
      """, .id(account), .text(account.description)
    ) { try $0.integer(0) } != nil
  }

  /// Whose a subscription is; nil where it is nobody's.
  package static func owner(
    of key: ObjectKey, reading database: some Queryable
  ) throws -> Identifier? {
    try SubscriptionRow(key, reading: database)?.owner
  }

  /// How many subscriptions an account owns.
  package static func ownedCount(
    by account: Identifier, reading database: some Queryable
  ) throws -> Int64 {
    try database.first(
      "SELECT count(*) FROM billing.subscriptions WHERE owner = $1", .id(account)
    ) { try $0.integer(0) } ?? 0
  }

  func affected(
    by decision: Decision, reading transaction: Transaction
  ) throws -> [ObjectKey] {
    switch decision {
    case .grant, .ungrant, .quota, .quotaCleared: return []
    case .claim(_, let object), .transfer(_, let object, _):
      return try Affected.subscriptions(from: object, reading(transaction))
    case .accountDeleted(let account):
      let owned = try transaction.rows(
        "SELECT object FROM billing.subscriptions WHERE owner = $1 ORDER BY object", .id(account)
      ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
      return try Set(
        owned.flatMap { try Affected.subscriptions(from: $0, reading(transaction)) }
      ).sorted()
    }
  }
}

/// A plan given by an admin.
package struct Grant: Sendable, Hashable {
  package let id: Identifier
  package let planID: String
  package let from: Instant
  /// Its end, or when it was taken back; nil is without end.
  package let until: Instant?
  /// Whether it was taken back before its end.
  package let isRevoked: Bool
  package let note: String

  var coverage: Coverage {
    Coverage(
      intervals: [
        Coverage.Interval(
          planID: planID, from: from, to: until ?? .distantFuture, why: .granted,
          evidence: .init(.grant, id.description))
      ],
      endings: until.map {
        [Schedule.Ending(at: $0, reason: isRevoked ? .grantRevoked : .lapsed)]
      } ?? [], alarms: [])
  }

  /// Every grant that the account ever had, as long as it stands or stood; none once it is gone.
  package static func active(
    of account: Identifier, reading database: some Queryable
  ) throws -> [Grant] {
    active(among: try Decided.all(of: account, reading: database))
  }

  /// The same, of what was decided for an account in the order of its sequence.
  static func active(among decisions: [Decided]) -> [Grant] {
    var grants: [Grant] = []
    var takenBack: [Identifier: Instant] = [:]
    for decided in decisions {
      switch decided.decision {
      case .accountDeleted: return []
      case .ungrant(_, let grant, _):
        takenBack[grant] = min(takenBack[grant] ?? decided.at, decided.at)
      case .grant(_, let plan, let from, let until, let note):
        grants.append(
          Grant(
            id: decided.id, planID: plan, from: from, until: until, isRevoked: false, note: note))
      case .quota, .quotaCleared, .claim, .transfer: continue
      }
    }
    return grants.map { grant in
      guard let end = takenBack[grant.id], grant.until.map({ end < $0 }) ?? true else {
        return grant
      }
      return Grant(
        id: grant.id, planID: grant.planID, from: grant.from, until: end, isRevoked: true,
        note: grant.note)
    }
  }
}
