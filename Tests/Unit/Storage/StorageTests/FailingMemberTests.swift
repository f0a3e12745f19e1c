import Base
import SQLite
import SeededRandom
import Storage
import Testing

/// A batch in which members fail, each at each of its statements. The stored rows and all answers are exactly
/// as if only the successful members had run, one after the other.
@Suite struct FailingMemberTests {
  /// How a member fails at one of its three statements.
  enum Fault: CaseIterable {
    /// The body refuses before the statement or, at the last place, after all of them.
    case refusal
    /// The statement violates a constraint.
    case constraint
    /// The statement violates a constraint after it has changed other rows.
    case midway
    /// The statement violates a constraint, and the body catches the error and succeeds.
    case caught
    /// The body refuses while it reads the rows that the statement returns.
    case inRow
    /// SQLite rolls the transaction back by itself.
    case rollback

    var places: Range<Int> { self == .refusal ? 0..<4 : 0..<3 }
  }

  struct Failing: CustomStringConvertible {
    let fault: Fault
    let place: Int

    var description: String { "\(fault) at \(place)" }
  }

  /// The result of a batch whose members are counted from 1.
  private struct Trial {
    let bench: BatchBench
    let runCounts: [Int: Int]
    /// The count that each member's last run read.
    let found: [Int: Int64]

    init(_ bench: BatchBench, _ members: [Failing?], usingSavepoints: Bool) throws {
      self.bench = bench
      for table in ["parts", "items"] { try bench.connection.execute("DELETE FROM sync.\(table)") }
      try bench.connection.execute("INSERT INTO sync.items (id, amount) VALUES (0, 0)")
      bench.outcomes.clear()
      let seen = Locked((runCounts: [Int: Int](), found: [Int: Int64]()))
      let requests = members.enumerated().map { index, failing in
        bench.request(index + 1) { [interrupter = bench.interrupter] transaction in
          seen.withLock { $0.runCounts[index + 1, default: 0] += 1 }
          let member = Member(number: index + 1, failing: failing, interrupter: interrupter)
          let found = try member.run(in: transaction)
          seen.withLock { $0.found[index + 1] = found }
        }
      }
      try bench.run(requests, usingSavepoints: usingSavepoints)
      (runCounts, found) = seen.withLock { $0 }
    }

    func expectOnlySurvivors(of members: [Failing?], _ comment: Comment) throws {
      let survivors = members.indices.filter { members[$0] == nil }.map { $0 + 1 }
      let outcomes = bench.outcomes.current
      #expect(outcomes.map(\.0).sorted() == Array(1...members.count), comment)
      for (number, outcome) in outcomes {
        if let failing = members[number - 1] {
          #expect(failing.explains(outcome, of: number), comment)
        } else {
          #expect(outcome == .success, comment)
        }
      }
      for (place, number) in survivors.enumerated() {
        #expect(found[number] == Int64(place + 1), comment)
      }
      let items = try stored("SELECT id, amount FROM sync.items ORDER BY id")
      var expected: [[Int64]] = [[0, Int64(survivors.count)]]
      // Each item holds the number of items before it.
      expected += survivors.enumerated().map { [Int64($0.element), Int64($0.offset + 1)] }
      #expect(items == expected, comment)
      let parts = try stored("SELECT id, item FROM sync.parts ORDER BY id")
      #expect(parts == survivors.map { [Int64($0), Int64($0)] }, comment)
    }

    private func stored(_ sql: String) throws -> [[Int64]] {
      var rows: [[Int64]] = []
      _ = try bench.connection.perform(sql, []) { row in
        rows.append([try row.integer(0), try row.integer(1)])
        return true
      }
      return rows
    }
  }

  private struct Member {
    let number: Int
    let failing: Failing?
    let interrupter: BatchBench.Interrupter

    /// Runs three writes, each of which would show in the other members' if it were not undone. Returns how
    /// many members were counted.
    func run(in transaction: Transaction) throws -> Int64 {
      var counted: Int64 = 0
      try fail(0, in: transaction)
      try transaction.execute(
        """
        INSERT INTO sync.items (id, amount) VALUES ($1, (SELECT count(*) FROM sync.items))
        """, .integer(number))
      try fail(1, in: transaction)
      counted =
        try transaction.first(
          "UPDATE sync.items SET amount = amount + 1 WHERE id = 0 RETURNING amount"
        ) { try $0.integer(0) } ?? 0
      try fail(2, in: transaction)
      try transaction.execute(
        "INSERT INTO sync.parts (id, item) VALUES ($1, $1)", .integer(number))
      try fail(3, in: transaction)
      return counted
    }

    private func fail(_ place: Int, in transaction: Transaction) throws {
      guard let failing, failing.place == place else { return }
      switch failing.fault {
      case .refusal: throw Refusal(reason: "member \(number)")
      case .constraint: try transaction.execute("INSERT INTO sync.items (id) VALUES (0)")
      case .midway:
        try transaction.execute(
          "UPDATE sync.items SET amount = CASE id WHEN $1 THEN -1 ELSE amount + 100 END",
          .integer(place == 0 ? 0 : number))
      case .caught:
        _ = Result { try transaction.execute("INSERT INTO sync.parts (id, item) VALUES (-1, -1)") }
      case .inRow:
        try transaction.query(
          "UPDATE sync.items SET amount = amount + 100 WHERE id >= 0 RETURNING id", []
        ) { _ in throw Refusal(reason: "member \(number)") }
      case .rollback:
        try transaction.query(
          "UPDATE sync.items SET amount = amount + 100 WHERE id >= 0 RETURNING id", []
        ) { _ in
          interrupter.interrupt()
          return true
        }
      }
    }
  }

  /// Without waiting for the disk, because there are thousands of commits.
  private static func bench() throws -> BatchBench {
    let bench = try BatchBench()
    try bench.connection.execute("PRAGMA sync.synchronous = OFF")
    return bench
  }

  @Test(arguments: Fault.allCases, [false, true])
  func `each of 64 members fails in turn at each of its statements, and no other does`(
    fault: Fault, usingSavepoints: Bool
  ) throws {
    let bench = try Self.bench()
    for index in 0..<64 {
      for place in fault.places {
        let failing = Failing(fault: fault, place: place)
        var members: [Failing?] = Array(repeating: nil, count: 64)
        members[index] = failing
        let trial = try Trial(bench, members, usingSavepoints: usingSavepoints)
        let comment: Comment = "member \(index + 1) fails: \(failing)"
        try trial.expectOnlySurvivors(of: members, comment)
        if fault != .rollback {
          #expect(bench.outcomes.current.map(\.0) == Array(1...64), comment)
        }
        let isRepeated =
          !usingSavepoints && index > 0 && fault != .rollback && !failing.isBeforeChanges
        for number in 1...64 {
          let isAlone = fault == .rollback && number <= index
          let runCount = isAlone || (isRepeated && number <= index + 1) ? 2 : 1
          #expect(trial.runCounts[number] == runCount, comment)
        }
      }
    }
  }

  @Test func `however many members fail, the others are stored as if alone`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "failing members"))
    let bench = try Self.bench()
    for round in 0..<600 {
      let failureShare = Double.random(in: 0...0.6, using: &random)
      let members = (0..<Int.random(in: 1...40, using: &random)).map { _ -> Failing? in
        guard Double.random(in: 0..<1, using: &random) < failureShare else { return nil }
        let fault = Fault.allCases.randomElement(using: &random)!
        return Failing(fault: fault, place: fault.places.randomElement(using: &random)!)
      }
      let trial = try Trial(bench, members, usingSavepoints: Bool.random(using: &random))
      try trial.expectOnlySurvivors(of: members, "round \(round): \(members)")
      // Once without savepoints, once with them, and once alone if SQLite rolled that back too.
      #expect(trial.runCounts.values.max() ?? 0 <= 3)
    }
  }
}

extension FailingMemberTests.Failing {
  /// True if nothing was written and no statement failed.
  fileprivate var isBeforeChanges: Bool { fault == .refusal && place == 0 }

  fileprivate func explains(_ outcome: Outcome, of number: Int) -> Bool {
    switch (fault, outcome) {
    case (.refusal, .refusal(let refusal)), (.inRow, .refusal(let refusal)):
      refusal.reason == "member \(number)"
    case (.constraint, .failure(.constraint)), (.midway, .failure(.constraint)),
      (.caught, .failure(.constraint)), (.rollback, .failure(.unavailable)):
      true
    default: false
    }
  }
}
