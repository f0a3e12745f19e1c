package import Base
package import JSON
package import Subscriptions
package import Tiers

/// A decision that we made ourselves: kept for ever like a delivery, never edited.
package enum Decision: Sendable {
  /// A plan for a time, regardless of payments; without end if `until` is nil.
  case grant(Identifier, planID: String, from: Instant, until: Instant?, note: String)
  /// Revokes a grant from then on, by its id.
  case ungrant(Identifier, grant: Identifier, note: String)
  /// A cap in place of what everything else gives, from then until `until`; without end if that is nil.
  case quota(Identifier, byteCount: Int64, until: Instant?, note: String)
  /// Ends the quota that was set last.
  case quotaCleared(Identifier, note: String)
  /// The account's accepted statement that a purchase is its own.
  case claim(Identifier, ObjectKey)
  /// An operator's decision about the owner of a purchase.
  case transfer(Identifier, ObjectKey, note: String)
  /// The account is gone; what it owned has no owner.
  case accountDeleted(Identifier)

  package var kind: String {
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

  /// The operator's note; nil if there is none.
  package var note: String? {
    switch self {
    case .grant(_, _, _, _, let note), .ungrant(_, _, let note), .quota(_, _, _, let note),
      .quotaCleared(_, let note), .transfer(_, _, let note):
      note
    case .claim, .accountDeleted: nil
    }
  }

  package var object: ObjectKey? {
    switch self {
    case .claim(_, let object), .transfer(_, let object, _): object
    case .grant, .ungrant, .quota, .quotaCleared, .accountDeleted: nil
    }
  }

  package var content: JSONValue {
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

  /// Why this cannot be decided under a catalogue; nil if it can. The plan of a grant that is over at
  /// `now` may be gone.
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
