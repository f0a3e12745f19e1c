package import Base

/// The result of a write of content.
package struct WrittenContent: Sendable {
  package let outcome: Outcome
  /// The account charged for the content; nil if an earlier, equal request had written it.
  package let owner: Identifier?
  package let byteCount: Int64

  package init(outcome: Outcome, owner: Identifier?, byteCount: Int64) {
    self.outcome = outcome
    self.owner = owner
    self.byteCount = byteCount
  }
}
