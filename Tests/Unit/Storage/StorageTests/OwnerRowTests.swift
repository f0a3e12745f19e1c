import Base
import SeededRandom
import Storage
import TestEngines
import Testing

/// Concurrent writers that meet at owner rows and follow the rule: lock each owner in ascending id with an
/// UPDATE of its row, then read again what the decision depends on.
@Suite struct OwnerRowTests {
  private static let lock =
    "UPDATE sync.owners SET seq = seq + 1 WHERE id = $1 RETURNING usage"

  @Test(arguments: TestEngine.available)
  func `sixteen writers never take usage above the cap`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open { $0.writeConnectionCount = 16 }
    defer { database.close() }
    let owner = Identifier(high: 0, low: 1)
    try create([owner], usage: 0, in: database)
    let cap: Int64 = 300
    let outcomes = Collector<Outcome>()
    let threads = (0..<16).map { _ in
      Thread {
        for _ in 0..<30 {
          outcomes.add(
            Outcome(
              Result {
                // Without an account, so that only the database keeps the writers apart.
                try database.write(for: nil) { transaction in
                  let usage = try transaction.first(Self.lock, .id(owner)) { try $0.integer(0) }
                  guard let usage, usage + 1 <= cap else { throw Refusal(reason: "over the cap") }
                  try transaction.execute(
                    "UPDATE sync.owners SET usage = $2 WHERE id = $1", .id(owner),
                    .integer(usage + 1))
                }
              }))
        }
      }
    }
    for thread in threads { thread.join() }
    let admitted = outcomes.current.filter { $0 == .success }.count
    let refused = outcomes.current.filter { $0 == .refusal(Refusal(reason: "over the cap")) }
    #expect(admitted == 300)
    #expect(refused.count == 180)
    let row = try database.read { reader in
      try reader.first("SELECT usage, seq FROM sync.owners") {
        (try $0.integer(0), try $0.integer(1))
      }
    }
    #expect(row?.0 == cap)
    #expect(row?.1 == 300)
  }

  @Test(arguments: TestEngine.available)
  func `writers that lock two owners in order never deadlock`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "rows of owners")
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open { $0.writeConnectionCount = 16 }
    defer { database.close() }
    let owners = (0..<4).map { Identifier(high: 0, low: UInt64($0)) }
    try create(owners, usage: 1000, in: database)
    let runs = Locked(0)
    let outcomes = Collector<Outcome>()
    let threads = (0..<16).map { number in
      Thread {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        for _ in 0..<25 {
          let pair = owners.shuffled(using: &random).prefix(2)
          outcomes.add(
            Outcome(
              Result {
                try database.write(for: nil) { transaction in
                  runs.withLock { $0 += 1 }
                  try Self.move(from: pair[0], to: pair[1], transaction)
                }
              }))
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(outcomes.current == Array(repeating: .success, count: 400), "seed \(seed)")
    // Each body ran once: nothing had to be repeated.
    #expect(runs.withLock { $0 } == 400, "seed \(seed)")
    let total = try database.read {
      try $0.first("SELECT CAST(sum(usage) AS BIGINT) FROM sync.owners") { try $0.integer(0) }
    }
    #expect(total == 4000, "seed \(seed)")
  }

  private static func move(
    from source: Identifier, to target: Identifier, _ transaction: Transaction
  ) throws {
    var usage: [Identifier: Int64] = [:]
    for owner in [source, target].sorted() {
      usage[owner] = try transaction.first(lock, .id(owner)) { try $0.integer(0) }
    }
    let change = "UPDATE sync.owners SET usage = $2 WHERE id = $1"
    try transaction.execute(change, .id(source), .integer((usage[source] ?? 0) - 1))
    try transaction.execute(change, .id(target), .integer((usage[target] ?? 0) + 1))
  }

  private func create(_ owners: [Identifier], usage: Int, in database: Database) throws {
    for owner in owners {
      try database.write(for: nil) {
        try $0.execute(
          "INSERT INTO sync.owners (id, seq, usage) VALUES ($1, 0, $2)", .id(owner),
          .integer(usage))
      }
    }
  }
}
