package import Base
package import Objects
package import Storage
package import Sync

/// Checks the trees of accounts, one after another, and repairs them if asked to.
package struct TreeValidation {
  /// A rule that a row breaks.
  package struct Broken: Sendable {
    package let account: Identifier
    package let rule: String
    package let file: Identifier
    package let text: String
    /// Nil if nothing is repaired.
    package let repair: TreeRepairs.Word?
  }

  private let database: Database
  private let objects: (any ObjectStore)?
  private let recount: Recount
  private let repairs: TreeRepairs?
  package private(set) var accountCount = 0
  package private(set) var rowCount: Int64 = 0
  package private(set) var brokenCount = 0
  package private(set) var repairedCount = 0
  package private(set) var repairableCount = 0

  /// `repairs` is nil if nothing is repaired, and `objects` if it is not known where they are.
  package init(
    _ database: Database, _ objects: (any ObjectStore)?, _ recount: Recount,
    repairing repairs: TreeRepairs?
  ) {
    self.repairs = repairs
    self.database = database
    self.objects = objects
    self.recount = recount
  }

  /// `each` gets how many rows of the account are checked, `found` each broken rule.
  package mutating func take(
    _ account: Identifier, each: (_ rows: Int64) -> Void = { _ in }, found: (Broken) throws -> Void
  ) throws {
    accountCount += 1
    var audit = TreeAudit(account, objects: objects)
    while !audit.isRead {
      for finding in try database.read({ try audit.readSlice($0) }) {
        try found(
          counting(
            Broken(
              account: account, rule: finding.law.rawValue, file: finding.subject,
              text: finding.law.text, repair: try repairs?.repair(finding, of: account))))
      }
      each(audit.checkedCount)
    }
    rowCount += audit.checkedCount
    if let usage = try recount.audit(account), !usage.isRight {
      try found(
        counting(
          Broken(
            account: account, rule: "usage", file: account,
            text: "the recorded usage matches the files; coffer usage recount corrects it",
            repair: try repairs?.correct(account, recount))))
    }
  }

  private mutating func counting(_ broken: Broken) -> Broken {
    brokenCount += 1
    switch broken.repair {
    case .done, .settled: repairedCount += 1
    case .possible: repairableCount += 1
    case .impossible, nil: break
    }
    return broken
  }
}
