package import Base
import Glibc
import Ledger
package import Storage
import Stores
import Subscriptions

/// One run over a list of purchases. It can be repeated: what it needs to know of earlier runs is in the ledger.
package struct PurchaseImport {
  package struct Counts: Sendable {
    package var rows = 0
    /// Purchases that their accounts owned before the run.
    package var owned = 0
    package var given = 0
    package var toRead = 0
    package var failed = 0
  }

  package private(set) var counts = Counts()
  package private(set) var problems: [(row: ImportFile.Row, problem: String)] = []

  private let list: ImportFile
  private let database: Database
  private let clock: Clock
  private let steps: ImportSteps
  private var claims: [ImportClaim] = []

  private static let sliceCount = 50
  /// The most reads that wait at a time. While they wait, no more are written.
  private static let awaitedCountMax = 100
  private static let pause: useconds_t = 200_000

  package init(_ list: ImportFile, _ database: Database, _ clock: Clock, _ steps: ImportSteps) {
    self.list = list
    self.database = database
    self.clock = clock
    self.steps = steps
    counts.rows = list.rows.count
  }

  // MARK: what would be done

  /// The number of rows that `perform` must settle, known after `check`.
  package var claimCount: Int { claims.count }

  /// The rows that failed and those that still wait: a file to import once it is fixed.
  package var report: String {
    let header = CSV.line(["line", "account", "store", "id", "problem"])
    return problems.reduce(into: header) { text, failed in
      let row = failed.row
      text += CSV.line([String(row.line), row.account, row.store, row.id, failed.problem])
    }
  }

  /// Checks every row and changes nothing.
  package mutating func check(tellingOf tell: (_ rowCount: Int) -> Void) throws {
    var seen: [ObjectKey: (line: Int, account: Identifier)] = [:]
    var rest = list.rows[...]
    while !rest.isEmpty {
      let slice = rest.prefix(Self.sliceCount)
      rest = rest.dropFirst(slice.count)
      let now = clock.now()
      for (row, found) in try database.read({ reader in
        try slice.map { ($0, try steps.finding(of: $0, at: now, reader)) }
      }) {
        tell(1)
        switch found {
        case .failure(let failure): fail(row, failure.text)
        case .success(let (claim, state)):
          let first = seen[claim.purchase.object]
          seen[claim.purchase.object] = first ?? (row.line, claim.account)
          if let first, first.account != claim.account {
            fail(row, "line \(first.line) says that it is another account's")
          } else {
            note(claim, state)
          }
        }
      }
    }
  }

  private mutating func note(_ claim: ImportClaim, _ state: ClaimState) {
    switch state {
    case .owned: counts.owned += 1
    case .ownedByAnother: fail(claim.row, ImportSteps.ownedByAnother)
    case .contested: fail(claim.row, ImportSteps.contested)
    case .free:
      counts.given += 1
      claims.append(claim)
    case .awaited, .givenUp, .unknown, .unread:
      counts.toRead += 1
      claims.append(claim)
    }
  }

  private mutating func fail(_ row: ImportFile.Row, _ problem: String) {
    counts.failed += 1
    problems.append((row, problem))
  }

  // MARK: doing it

  /// Carries out what `check` found, until every row is settled, or none was for the time of `patience`.
  package mutating func perform(
    waiting patience: Instant.Span, tellingOf tell: (_ rowCount: Int) -> Void
  ) throws {
    (counts.given, counts.toRead) = (0, 0)
    var rest = claims[...]
    var awaited: [ImportClaim] = []
    var end = MonotonicTime.now() + patience
    while !(rest.isEmpty && awaited.isEmpty) {
      let slice = rest.prefix(min(Self.sliceCount, Self.awaitedCountMax - awaited.count))
      rest = rest.dropFirst(slice.count)
      let (left, wasSettled) = try advance(slice + awaited, isNew: slice.count)
      awaited = left
      if wasSettled > 0 {
        tell(wasSettled)
        end = .now() + patience
      } else if end < .now() {
        break
      }
      if awaited.count == Self.awaitedCountMax || rest.isEmpty, !awaited.isEmpty {
        usleep(Self.pause)
      }
    }
    for claim in awaited + rest {
      counts.toRead += 1
      problems.append((claim.row, "not read yet" + (claim.lastError.map { ": \($0)" } ?? "")))
    }
    problems.sort { $0.row.line < $1.row.line }
  }

  /// Looks at each row once. Returns the rows that still wait, and the number that do not.
  private mutating func advance(
    _ claims: [ImportClaim], isNew newCount: Int
  ) throws -> (awaited: [ImportClaim], settledCount: Int) {
    let (now, steps) = (clock.now(), steps)
    let looked = try database.read { reader in
      try claims.enumerated().map { index, claim in
        try steps.outcome(of: claim, isNew: index < newCount, at: now, reader)
      }
    }
    let openCount = looked.count { if case .open = $0 { true } else { false } }
    let outcomes =
      openCount == 0
      ? looked
      : try database.write(for: nil) { transaction in
        try zip(claims, looked).map { claim, outcome in
          guard case .open = outcome else { return outcome }
          return try steps.file(claim, at: now, in: transaction)
        }
      }
    var awaited: [ImportClaim] = []
    for (var claim, outcome) in zip(claims, outcomes) {
      switch outcome {
      case .given: counts.given += 1
      case .failed(let problem): fail(claim.row, problem)
      case .awaited(let error):
        claim.lastError = error
        awaited.append(claim)
      case .open: awaited.append(claim)
      }
    }
    return (awaited, claims.count - awaited.count)
  }
}
