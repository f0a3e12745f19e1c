package import Base
package import Storage
import Subscriptions
import Tiers

/// A plan granted by an operator.
package struct Grant: Sendable, Hashable {
  package let id: Identifier
  package let planID: String
  package let from: Instant
  /// Its end, or when it was revoked; nil if it has no end.
  package private(set) var until: Instant?
  /// Whether it was revoked before its end.
  package private(set) var isRevoked = false
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

  /// Every grant that the account ever had, for as long as it is or was in force; none once the
  /// account is gone.
  package static func active(
    of account: Identifier, reading database: some Queryable
  ) throws -> [Grant] {
    active(among: try Decided.all(of: account, reading: database))
  }

  /// The same, from an account's decisions in the order of their sequence.
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
          Grant(id: decided.id, planID: plan, from: from, until: until, note: note))
      case .quota, .quotaCleared, .claim, .transfer: continue
      }
    }
    for (index, grant) in grants.enumerated() {
      guard let end = takenBack[grant.id], end < grant.until ?? .distantFuture else { continue }
      (grants[index].until, grants[index].isRevoked) = (end, true)
    }
    return grants
  }
}
