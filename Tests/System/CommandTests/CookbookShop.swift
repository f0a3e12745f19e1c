import Base
import Glibc
import JSON
import Objects
import RecordedStories
import Storage
import TestEngines
import TestFiles

/// Data for an operator's questions: ada, who bought once, and Stripe's stories on a day in September.
struct CookbookShop {
  let first: FirstPurchase
  let environment: [String: String]
  /// The ids of the stories' accounts, by the stories' names.
  let accounts: [String: String]
  let backups: String
  /// A device key of bob, who has bought nothing.
  let key: String
  /// The request id of a refused delivery.
  let request: String
  /// A purchase that an operator moved to another account.
  let moved: String

  private static let now = Instant(rfc3339: "2026-09-22T09:00:00Z")!

  /// The Stripe stories, as far as they have happened on that day.
  private static let names = [
    "dispute-won", "failed-payment-lapse", "refunds-of-parts", "upgrade-to-year",
  ]

  init() throws {
    first = try FirstPurchase()
    let scratch = first.scratch.path
    backups = scratch + "/backups"
    let environment = first.environment.merging([
      "COFFER_OBJECTS": "file://\(scratch)/objects", "COFFER_STRIPE_API_KEY": "sk_live_none",
      "COFFER_ACTOR": "carol",
    ]) { $1 }
    self.environment = environment
    _ = try DirectoryStore(directory: scratch + "/objects")
    let stories = Self.names.compactMap { name in
      RecordedStory.all.first { $0.name == "stripe/2026-07-29.dahlia/\(name)" }
    }
    accounts = Dictionary(
      uniqueKeysWithValues: stories.map {
        (String($0.name.split(separator: "/")[2]), $0.account.description)
      })
    func coffer(_ words: String...) throws -> Finished {
      let finished = try Finished(words, environment: environment)
      guard finished.code == 0 else { throw Failure(description: "\(words): \(finished.errors)") }
      return finished
    }
    for (name, account) in accounts.sorted(by: { $0.key < $1.key }) {
      _ = try coffer(
        "account", "create", "--id", account, "--key-file", "\(scratch)/\(name).key", "--username",
        name.replacing("-", with: ""))
    }
    let bob = try coffer(
      "account", "create", "--username", "bob", "--key-file", "\(scratch)/bob.key", "--json")
    key = try JSON.parse(Array(bob.out.utf8))["public_key"].string ?? ""
    let steps = stories.flatMap { story in
      story.steps.filter { $0.at <= Self.now }.compactMap { step in
        step.delivery.map { (at: step.at, story: story.name, name: $0.name) }
      }
    }.sorted { ($0.at, $0.story) < ($1.at, $1.story) }
    for step in steps {
      try Files.write("\(step.at.milliseconds)\n", to: scratch + "/clock")
      _ = try Finished(
        ["webhook", "send", "\(RecordedStory.folder)/\(step.story)/\(step.name)"],
        environment: first.environment)
    }
    try Files.write("\(Self.now.milliseconds)\n", to: scratch + "/clock")
    let refused = try Finished(
      [
        "webhook", "send",
        "\(RecordedStory.folder)/\(FirstPurchase.story.name)/04-invoice.paid.http", "--at",
        "2026-01-05T10:00:00Z",
      ], environment: first.environment)
    request = String(
      refused.out.split(separator: "urn:coffer:request:").last?.prefix { $0 != "\"" } ?? "")
    // The server writes refused requests once a second.
    for _ in 0..<100 {
      if try coffer("event", "list", "--refused").out.contains(request) { break }
      usleep(100_000)
    }
    let yearly = stories.first { $0.name.hasSuffix("upgrade-to-year") }!
    moved = yearly.key(of: yearly.subscriptions[0])
    _ = try coffer(
      "subscription", "transfer", moved,
      accounts["refunds-of-parts"] ?? "", "--reason", "bought with the wrong account", "--yes")
    _ = try coffer("backup", backups)
    try Self.break(scratch, accounts["failed-payment-lapse"] ?? "")
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Adds what none of these stories has: an account that holds much and claims another's purchase, a store
  /// that is down, a job that died because of it, and a former user who is still billed.
  private static func `break`(_ scratch: String, _ account: String) throws {
    let location = DatabaseLocation.sqlite(directory: scratch + "/database")
    let sync = try Database.open(location, owning: .sync)
    defer { sync.close() }
    let id = Identifier(account)
    try sync.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE sync.accounts SET usage_bytes = 5000000 WHERE id = $1", .id(id))
    }
    let billing = try Database.open(location, owning: .billing)
    defer { billing.close() }
    try billing.write(for: nil) { transaction in
      try transaction.execute(
        "INSERT INTO billing.refused_claims (object, account_id, refused_ms) VALUES ($1, $2, $3)",
        .text(FirstPurchase.subscription), .id(id), .instant(now - .hours(1)))
      try transaction.execute(
        """
        INSERT INTO billing.attention (object, kind, about, since_ms, until_ms)
        VALUES ('apple:live:subscription:2000000248495100', 'still_billed', '', $1, $2)
        """, .instant(now - .days(30)), .instant(.distantFuture))
      try transaction.execute(
        "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, $2)",
        .text(FirstPurchase.subscription), .instant(now - .hours(2)))
      try transaction.execute(
        """
        INSERT INTO billing.jobs (kind, object, requested, issued, committed, confirmations, attempts,
          refusals, dead, last_error)
        VALUES ('read', 'stripe:live:subscription:sub_gone', 1, 1, 0, 0, 9, 3, 1, 'refused: 404')
        """)
    }
  }
}
