package import Acts
package import Base
package import Storage
import Sync

/// What `tree validate --repair` does about a broken rule, or would do.
package struct TreeRepairs {
  private let database: Database
  private let act: Act
  private let clock: Clock
  /// Whether a repair is kept. Otherwise it is done and undone, as in every act that waits for confirmation.
  private let does: Bool

  package enum Word: String, Sendable {
    case done, possible, settled
    case impossible = "none"

    /// As wide as any of them, because rows are printed before the next one is known.
    package static let title = "REPAIR  "
  }

  package init(_ database: Database, _ act: Act, _ clock: Clock, does: Bool) {
    self.database = database
    self.act = act
    self.clock = clock
    self.does = does
  }

  /// Repairs in its own transaction, with an entry in the audit log.
  func repair(_ finding: TreeFinding, of account: Identifier) throws -> Word {
    let (act, now, does) = (act, clock.now(), does)
    let attempt: @Sendable (Transaction) throws -> Word = { transaction in
      let outcome = try TreeRepair.repair(finding, of: account, at: now, in: transaction)
      guard case .repaired(let before, let after) = outcome else {
        return outcome == .right ? .settled : .impossible
      }
      guard does else { return .possible }
      try act.note(
        Act.Effect(
          subject: finding.subject.description, account: account, before: before, after: after,
          step: finding.law.rawValue), at: now, in: transaction)
      return .done
    }
    return does ? try database.write(for: account, attempt) : try database.rehearse(attempt)
  }

  /// Corrects what is charged, as `usage recount` does.
  func correct(_ account: Identifier, _ recount: Recount) throws -> Word {
    guard does else { return .possible }
    _ = try recount.correct(account, noting: act, at: clock.now())
    return .done
  }
}
