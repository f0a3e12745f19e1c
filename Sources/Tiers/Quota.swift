import Base

/// Decides whether a write fits. The usage ledger that it decides about belongs to sync.
package enum Quota {
  package enum Admission: Hashable, Sendable {
    case admitted
    /// `needed` is the cap that would have admitted the write.
    case exceeded(needed: Int64)
  }

  /// Refuses only what would leave usage above the cap and higher than before.
  ///
  /// So shrinking writes and deletes always pass, even far above a cap that was lowered.
  package static func admission(usage: Int64, delta: Int64, cap: Int64) -> Admission {
    guard delta > 0 else { return .admitted }
    let needed = usage.addingClamped(delta)
    return needed > cap ? .exceeded(needed: needed) : .admitted
  }
}
