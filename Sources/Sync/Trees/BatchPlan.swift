package import Base

/// A batch that breaks no rule: the writes, and everything that was read to judge it. It holds while the accounts
/// involved keep their sequence numbers: any change of a file or a share that the judgement used gives its owner's or
/// its sharee's sequence a new number.
package struct BatchPlan: Sendable {
  let tree: PlannedTree
  let records: [Identifier: FileRecord]
  /// Unchanged folders that may have more levels below them than before.
  package let raisedHeights: [Identifier: Int64]
  /// The number of strangers invited, by receiver, if the caller's invitations are limited.
  let invitations: [Identifier: Int64]
  /// The accounts whose rows the batch changes or depends on, sharees included, with their sequence numbers.
  package let numbers: [Identifier: Int64]
  /// The accounts among them whose trees the batch changes. Their own writes may change the other accounts.
  package let owners: Set<Identifier>

  var accounts: Set<Identifier> { Set(numbers.keys) }
}
