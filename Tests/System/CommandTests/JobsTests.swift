import Base
import Goldens
import Jobs
import Storage
import TestEngines
import Testing

struct JobsTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Adds a dead job, one that was due two minutes ago, one that is running and one that is settled.
  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try scratch.change(.billing) { transaction in
      try Jobs.request("google", "5f2b", due: Self.now - .minutes(2), in: transaction)
      try Jobs.request("apple", "2000", due: Self.now - .minutes(9), in: transaction)
      for lease in try Jobs.lease("apple", limit: 1, now: Self.now, in: transaction) {
        try lease.commit(readBegan: nil, now: Self.now, in: transaction)
      }
      for object in ["sub_1", "sub_2"] {
        try Jobs.request("stripe", object, due: Self.now, in: transaction)
      }
      try Self.kill("sub_1", in: transaction)
      _ = try Jobs.lease("stripe", limit: 1, now: Self.now, in: transaction)
    }
  }

  /// Adds a job that was refused until it was dead, a day ago.
  private static func kill(_ object: String, in transaction: Transaction) throws {
    var now = now - .days(1)
    try Jobs.request("stripe", object, due: now, in: transaction)
    for _ in 0..<JobRules.refusalCountMax {
      for lease in try Jobs.lease("stripe", limit: 1, now: now, in: transaction) {
        try lease.retry(.refused("no such subscription"), now: now, in: transaction)
      }
      now = now + JobRules.backoffMax
    }
  }

  @Test func `jobs are listed for people`() throws {
    try expectGolden(try coffer("jobs", "list").out, "jobs-list")
  }

  @Test func `a page of jobs says how the next one is had`() throws {
    let first = try coffer("jobs", "list", "--limit", "2")
    #expect(
      first.errors
        == "coffer: 2 of 3 jobs; continue with --after google/5f2b\n", "\(first.errors)")
    let second = try coffer("jobs", "list", "--after", "google/5f2b")
    #expect(second.out.contains("sub_2") && !second.out.contains("sub_1"))
    #expect(second.errors.isEmpty)
  }

  @Test func `a page behind a job that is settled is refused`() throws {
    let settled = try coffer("jobs", "list", "--after", "apple/2000")
    #expect(settled.code == 1)
    #expect(
      settled.errors.hasSuffix(
        "apple/2000 is settled by now; start again, or after another job\n"), "\(settled.errors)")
    #expect(try coffer("jobs", "list", "--after", "apple").code == 64)
    #expect(try coffer("jobs", "list", "--after", "apple/9").code == 1)
  }

  @Test func `jobs are listed for programs`() throws {
    try expectGolden(try coffer("jobs", "list", "--json").out, "jobs-list-json")
  }

  @Test func `only the dead are listed on demand`() throws {
    let out = try coffer("jobs", "list", "--dead").out
    #expect(out.contains("sub_1"))
    #expect(!out.contains("sub_2") && !out.contains("5f2b"))
  }

  @Test func `all dead jobs of a kind are retried`() throws {
    #expect(try coffer("jobs", "retry", "stripe").out == "1 job is due now\n")
    #expect(try !coffer("jobs", "list").out.contains("dead"))
    let again = try coffer("jobs", "retry", "stripe", "--json").out
    #expect(again == "{\"retried\":0,\"audit\":\"billing:2\"}\n")
  }

  @Test func `a named job is retried, settled or not`() throws {
    let out = try coffer("jobs", "retry", "apple", "--object", "2000").out
    #expect(out == "1 job is due now\n")
    #expect(try coffer("jobs", "list").out.contains("2000"))
  }

  @Test func `a read that was given up and is dropped leaves nothing that wants a human`() throws {
    let shop = try FirstPurchase()
    try shop.scratch.change(.billing) { transaction in
      try Jobs.request(
        "read", FirstPurchase.subscription.description, due: Self.now, in: transaction)
      try transaction.execute("UPDATE billing.jobs SET dead = 1, due_ms = NULL WHERE kind = 'read'")
      try transaction.execute(
        "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, 1772445000000)",
        .text(FirstPurchase.subscription.description))
    }
    let told = try shop.coffer("attention")
    #expect(told.code == 2 && told.out.contains("dead_job"), "\(told.out)")
    #expect(!told.out.contains("store_unanswered"), "it is told twice")
    let dropped = try shop.coffer(
      "jobs", "drop", "read", FirstPurchase.subscription.description, "--reason", "gone", "--yes")
    #expect(dropped.code == 0, "\(dropped.errors)")
    let after = try shop.coffer("attention")
    #expect(after.code == 0 && !after.out.contains("store_unanswered"), "\(after.out)")
  }

  @Test func `a dead job is dropped once it is confirmed, and no other is`() throws {
    let drop = ["jobs", "drop", "stripe", "sub_1", "--reason", "gone for good"]
    #expect(try Finished(drop, environment: environment).code == 3)
    #expect(try coffer("jobs", "list", "--dead").out.contains("sub_1"))
    #expect(try Finished(drop + ["--yes"], environment: environment).code == 0)
    #expect(try !coffer("jobs", "list").out.contains("sub_1"))
    let again = try Finished(drop + ["--yes"], environment: environment)
    #expect(again.errors.hasSuffix("the job sub_1 of the kind stripe is settled, not dead\n"))
    let waiting = try coffer("jobs", "drop", "google", "5f2b", "--reason", "n", "--yes")
    #expect(waiting.code == 1)
    #expect(try coffer("jobs", "retry", "stripe", "--object", "sub_1").code == 0)
  }

  @Test func `a read that waits is dropped only where nobody else knows of what it would read`()
    throws
  {
    let shop = try FirstPurchase()
    let unknown = "stripe:live:subscription:sub_nosuch"
    let database = try shop.scratch.database(of: .billing)
    defer { database.close() }
    // Far in the future, so that the server does not take them.
    let due = Self.now + .days(9)
    try database.write(for: nil) { transaction in
      for object in [unknown, FirstPurchase.subscription] {
        try Jobs.request("read", object, due: due, in: transaction)
      }
    }
    let known = try shop.coffer(
      "jobs", "drop", "read", FirstPurchase.subscription, "--reason", "mistyped", "--yes")
    #expect(known.code == 1)
    #expect(known.errors.hasSuffix(" is waiting, not dead: it is owed an answer\n"))
    let shown = try shop.coffer("jobs", "drop", "read", unknown, "--reason", "mistyped")
    #expect(shown.code == 3 && shown.out.contains("state       waiting  settled"), "\(shown.out)")
    let dropped = try shop.coffer("jobs", "drop", "read", unknown, "--reason", "mistyped", "--yes")
    #expect(dropped.code == 0, "\(dropped.errors)")
    let list = try shop.coffer("jobs", "list").out
    #expect(!list.contains(unknown) && list.contains(FirstPurchase.subscription), "\(list)")
    #expect(try shop.coffer("audit", "list").out.contains("jobs drop"))
    try database.write(for: nil) { transaction in
      try Jobs.request("read", unknown, due: due, in: transaction)
      try transaction.execute(
        "INSERT INTO billing.claims (object, account_id, claimed_ms) VALUES ($1, $2, 1)",
        .text(unknown), .id(Identifier(FirstPurchase.account)))
    }
    let claimed = try shop.coffer("jobs", "drop", "read", unknown, "--reason", "mistyped", "--yes")
    #expect(claimed.code == 1, "\(claimed.out)")
  }

  @Test func `a kind that no job ever had is code 1`() throws {
    let finished = try coffer("jobs", "retry", "nokind")
    #expect(finished.code == 1)
    #expect(finished.errors == "coffer: there has never been a job of the kind nokind\n")
  }

  @Test func `a job that is not there is code 1`() throws {
    let finished = try coffer("jobs", "retry", "stripe", "--object", "sub_9")
    #expect(finished.code == 1)
    #expect(finished.errors.hasSuffix("coffer: there is no job sub_9 of the kind stripe\n"))
  }
}
