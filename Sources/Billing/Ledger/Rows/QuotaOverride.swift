package import Base
package import Storage
import Tiers

/// A cap that an operator set in place of what an account is owed.
package struct QuotaOverride: Sendable, Hashable {
  package let byteCount: Int64
  package let from: Instant
  /// Its end, or when it was cleared or replaced by another; nil if it has no end.
  package private(set) var until: Instant?

  var override: Schedule.Override {
    Schedule.Override(from: from, to: until ?? .distantFuture, capByteCount: byteCount)
  }

  /// The quota in force for an account; nil if there is none.
  package static func current(
    of account: Identifier, at now: Instant, reading database: some Queryable
  ) throws -> QuotaOverride? {
    all(among: try Decided.all(of: account, reading: database)).first { override in
      override.from <= now && override.until.map { now < $0 } ?? true
    }
  }

  /// Every quota that is or was in force, from an account's decisions in the order of their
  /// sequence; none once the account is gone. No two of them overlap.
  package static func all(among decisions: [Decided]) -> [QuotaOverride] {
    var overrides: [QuotaOverride] = []
    func end(at moment: Instant) {
      guard let last = overrides.indices.last else { return }
      overrides[last].until = min(overrides[last].until ?? moment, moment)
    }
    for decided in decisions {
      switch decided.decision {
      case .accountDeleted: return []
      case .quotaCleared: end(at: decided.at)
      case .quota(_, let byteCount, let until, _):
        end(at: decided.at)
        overrides.append(QuotaOverride(byteCount: byteCount, from: decided.at, until: until))
      case .grant, .ungrant, .claim, .transfer: continue
      }
    }
    return overrides
  }
}
