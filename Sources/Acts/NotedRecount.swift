package import Base
import JSON
package import Sync

extension Recount {
  /// Corrects an account's usage, with an entry of the audit log in the same transaction.
  @discardableResult
  package func correct(
    _ account: Identifier, noting act: Act, at now: Instant
  ) throws -> UsageFinding? {
    try correct(account, now: now) { finding, transaction in
      try act.note(
        Act.Effect(
          subject: account.description, account: account,
          before: [
            "usage_bytes": .integer(finding.recordedByteCount),
            "records": .integer(finding.recordedRecordCount),
          ],
          after: [
            "usage_bytes": .integer(finding.trueByteCount),
            "records": .integer(finding.trueRecordCount),
          ]), at: now, in: transaction)
    }
  }
}
