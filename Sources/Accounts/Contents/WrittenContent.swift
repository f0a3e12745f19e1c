package import Base

/// The result of a write of content.
package struct WrittenContent: Sendable {
  package let outcome: Outcome
  /// The outcome as it may be recorded: without a secret that is told once.
  let recorded: Outcome
  /// The account charged for the content; nil if an earlier, equal request had written it.
  package let owner: Identifier?
  package let byteCount: Int64

  /// `recorded` is nil if the outcome has no secret.
  package init(
    outcome: Outcome, recorded: Outcome? = nil, owner: Identifier?, byteCount: Int64
  ) {
    self.outcome = outcome
    self.recorded = recorded ?? outcome
    self.owner = owner
    self.byteCount = byteCount
  }
}
