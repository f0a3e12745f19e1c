package import Base
package import Storage
internal import Tiers

/// A cap set by an admin in place of what an account is owed.
package struct QuotaOverride: Sendable, Hashable {
  package let byteCount: Int64
  package let from: Instant
  /// Its end, or when it was cleared or another one was set; nil is without end.
  package let until: Instant?

  var override: Schedule.Override {
    Schedule.Override(from: from, to: until ?? .distantFuture, capByteCount: byteCount)
  }

  /// The one that holds for an account; nil where none does.
  package static func current(
    of account: Identifier, at now: Instant, reading database: some Queryable
  ) throws -> QuotaOverride? {
    all(among: try Decided.all(of: account, reading: database)).first { override in
      override.from <= now && override.until.map { now < $0 } ?? true
    }
  }

  /// Every one that holds or held, of what was decided for an account in the order of its sequence; none
  /// once the account is gone. No two of them overlap.
  package static func all(among decisions: [Decided]) -> [QuotaOverride] {
    var overrides: [QuotaOverride] = []
    func end(at moment: Instant) {
      guard let last = overrides.popLast() else { return }
      overrides.append(last.ended(at: moment))
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

  private func ended(at moment: Instant) -> QuotaOverride {
    QuotaOverride(byteCount: byteCount, from: from, until: min(until ?? moment, moment))
  }
}
