package import Base

/// A batch that breaks no rule: what is to be written, and all that was read to find that out.
///
/// It holds for as long as the accounts that it concerns stand at the numbers they had: whatever
/// changes a file or a share that was decided by gives its owner's or its sharee's sequence a number.
package struct BatchPlan: Sendable {
  let tree: PlannedTree
  let records: [Identifier: FileRecord]
  /// Unchanged folders that may have more levels beneath them than before.
  let raisedHeights: [Identifier: Int64]
  /// Strangers that it invites, by receiver, where the caller may invite only so many.
  let invitations: [Identifier: Int64]
  /// The accounts whose rows the batch changes or was decided by, with the numbers they stood at: of
  /// those that share with the caller or that it names as sharees.
  package let numbers: [Identifier: Int64]
  /// Those among them in whose trees it changes something: a write of theirs may change the others.
  package let owners: Set<Identifier>

  var accounts: Set<Identifier> { Set(numbers.keys) }
}
