package import Accounts
import Answers
package import Base
import CommandLine
package import Configuration
import KnownStores
import Ledger
package import Report
package import Storage
package import Tiers

/// All figures of a report, read in one snapshot.
package struct ReportFigures {
  package private(set) var month: MonthlyReport
  package private(set) var storage: StorageFigures
  package let made: Instant
  package let catalogue: Catalogue
  package let environment: String

  /// Reads the figures with progress on stderr.
  ///
  /// - Throws: A `CommandFailure` if nothing is known of the month.
  package init(
    _ month: Month, at now: Instant, _ configuration: DatabaseConfiguration, of database: Database
  ) throws {
    made = now
    catalogue = configuration.catalogue
    environment = configuration.grantingEnvironment.rawValue
    self.month = MonthlyReport(month, at: now)
    storage = StorageFigures(at: now, opened: month.start..<self.month.end, catalogue)
    try read(of: Ledger(stores: .known, rules: LedgerRules(configuration), for: .command), database)
    if let began = self.month.began, month.end <= began {
      throw CommandFailure(
        .refused, "there is no data for \(month): the ledger begins in \(Month(of: began))")
    }
  }

  private mutating func read(of ledger: Ledger, _ database: Database) throws {
    try database.read { reader in
      let progress = Progress(
        "reading", .count(of: "subscriptions"), of: try SubscriberPages.count(reader))
      var pages = try SubscriberPages(of: ledger, at: made, reading: reader)
      while let page = try pages.next() {
        for subscriber in page { month.add(subscriber) }
        progress.done = pages.readCount
      }
      let weighed = Progress("weighing", .count(of: "accounts"), of: try Account.count(reader))
      while try storage.readPage(reader) { weighed.done = storage.total.accountCount }
    }
  }

  /// The storage by plan; the plan with the most accounts comes first.
  package var storageOfPlans: [(plan: String, sum: StorageFigures.Sum)] {
    storage.plans.sorted { (-$0.value.accountCount, $0.key) < (-$1.value.accountCount, $1.key) }
      .map { ($0.key, $0.value) }
  }
}
