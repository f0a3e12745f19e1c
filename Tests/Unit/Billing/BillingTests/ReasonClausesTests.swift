import Answers
import Goldens
import Testing
import Tiers

/// The table from which sentences take the reason for an account's size.
struct ReasonClausesTests {
  private static let rows: [(name: String, clauses: ReasonClauses)] =
    CapReason.allCases.map { ($0.rawValue, ReasonClauses($0)) } + [
      ("transferred", .transferred), ("unbilled", .unbilled), ("abandoned", .abandoned),
      ("unreported", .unreported), ("rebilled", .rebilled), ("unshared", .unshared),
    ]

  @Test func `every reason reads in every tense as it was looked at`() throws {
    let text = Self.rows.map { name, clauses in
      """
      \(name)
        Your account may store 10 B because \(clauses.now), \
      \(clauses.end.map { "until \($0)" } ?? "without an end").
        Your account could store 10 B because \(clauses.past).
        Last, \(clauses.began).
        Next, \(clauses.next)your account may store 5 B.


      """
    }.joined()
    try expectGolden(text, "reasons")
  }

  @Test(arguments: CapReason.allCases)
  func `a reason names its end unless it gives a plan, which time ends`(reason: CapReason) {
    #expect((ReasonClauses(reason).end == nil) == reason.givesAccess)
  }

  @Test func `a clause is part of a sentence`() {
    for (name, clauses) in Self.rows {
      for clause in [clauses.now, clauses.past, clauses.began, clauses.end].compactMap({ $0 }) {
        #expect(clause.first?.isLowercase == true && clause.last?.isLetter == true, "\(name)")
      }
      #expect(clauses.next.isEmpty || clauses.next.hasSuffix(", "), "\(name)")
    }
  }
}
