import Base
import Glibc
import HTTPServer
import LocalServer
import ProviderFakes
import RecordedStories
import TestEngines
import TestFiles
import Testing

/// Purchases made before Coffer, assigned to accounts by a running coffer-billing and a Stripe that knows
/// them.
struct ImportTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let accounts = [
    ("ada", "a0mq5gVV8UhtTq/RdYwoJWjqHCEJs0c9xp3rpjKWE40="),
    ("ben", "B9AAe/AqrZZC4Afj/21mGXUXOfpVLYSF+nCzaf68o70="),
    ("cleo", "9L9FR9nwqhojEfzhYFov90cZJz8KeEZt5/V5k5quHu4="),
  ]

  private let scratch: ScratchDirectory
  let environment: [String: String]
  private let stripe: FakeStripe
  private let api: HTTPServer
  private let billing: Running
  private let port: UInt16

  /// Creates three accounts, and a Stripe that made sales before it heard of them.
  init() throws {
    let clock = FakeClock(Self.now - .hours(1))
    stripe = FakeStripe(clock)
    api = try startServer(stripe.routes())
    let running = try RunningBilling(
      at: Self.now,
      adding: [
        "COFFER_STRIPE_API_KEY": String(decoding: stripe.key.exposed, as: UTF8.self),
        "COFFER_STRIPE_API_URL": "http://127.0.0.1:\(api.port)",
      ])
    (scratch, environment, billing) = (running.scratch, running.environment, running.program)
    port = running.port
    for (index, (name, key)) in Self.accounts.enumerated() {
      let id = "0190a5e0-0000-7000-8000-00000000a00\(index + 1)"
      let created = try coffer(
        "account", "create", "--id", id, "--username", name, "--public-key", key)
      #expect(created.code == 0, "\(created.errors)")
    }
    clock.set(Self.now)
  }

  private func list(_ rows: String...) throws -> String {
    let path = scratch.path + "/list.csv"
    try Files.write(rows.map { $0 + "\r\n" }.joined(), to: path)
    return path
  }

  private func explained(_ name: String) throws -> String {
    try coffer("entitlement", "explain", name).out
  }

  @Test
  func `what Stripe sold before is its accounts' once it was read, and a second run asks nothing`()
    throws
  {
    let ids = [stripe.buy(account: nil), stripe.buy(account: nil)]
    let path = try list("id,store,account", "\(ids[0]),stripe,ada", "\"\(ids[1])\", Stripe ,BEN")
    let shown = try coffer("import", path)
    #expect(shown.code == 3)
    #expect(shown.out.contains("   2  would be read first"), "\(shown.out)")
    #expect(try coffer("jobs", "list", "--json").out.contains(ids[0]) == false)
    let done = try coffer("import", path, "--yes", "--reason", "we moved")
    #expect(done.code == 0, "\(done.out)\(done.errors)")
    #expect(done.out.contains("   2  were given"), "\(done.out)")
    for (name, id) in zip(["ada", "ben"], ids) {
      #expect(try explained(name).contains("stripe:live:subscription:\(id)"))
    }
    let again = try coffer("import", path, "--yes", "--json")
    #expect(again.code == 0)
    #expect(again.out.contains(#""owned":2,"given":0,"to_read":0,"failed":0"#), "\(again.out)")
    let entries = try coffer("audit", "list").out.split(separator: "\n")
      .filter { $0.contains("we moved") }
    #expect(entries.count == 2)
  }

  @Test func `what comes to nothing is reported, and nobody loses what is theirs`() throws {
    let owned = stripe.buy(account: Identifier("0190a5e0-0000-7000-8000-00000000a003"))
    let free = stripe.buy(account: nil)
    let report = scratch.path + "/report.csv"
    let path = try list(
      "account,store,id", "ada,stripe,\(owned)", "ada,stripe,sub_made_up", "dora,stripe,\(free)",
      "ada,play,\(free)", "ada,stripe,cus_1", "ada,apple,2000001234567890", "ben,stripe,\(free)",
      "ada,stripe,\(free)")
    let done = try coffer("import", path, "--yes", "--report", report)
    #expect(done.code == 1, "\(done.out)\(done.errors)")
    #expect(done.out.contains("   1  were given"), "\(done.out)")
    let reported = try #require(Files.text(report))
    for line in [
      "2,ada,stripe,\(owned),another account owns it; coffer subscription transfer gives it to this "
        + "one",
      "3,ada,stripe,sub_made_up,its store does not know it",
      "4,dora,stripe,\(free),there is no account with the username dora",
      "5,ada,play,\(free),\"there is no such store: stripe, apple, google, btcpay\"",
      "6,ada,stripe,cus_1,its id is no number that Stripe gives",
      "7,ada,apple,2000001234567890,apple cannot be queried: no key of its API is configured",
      "9,ada,stripe,\(free),line 8 says that it is another account's",
    ] {
      #expect(reported.contains(line + "\r\n"), "\(reported)")
    }
    #expect(try explained("ben").contains(free))
    #expect(try explained("cleo").contains(owned))
    #expect(try !explained("ada").contains("stripe:live"))
    let again = try coffer("import", report)
    #expect(again.code == 3)
    #expect(again.out.contains("   7  would come to nothing") == false)
  }

  @Test func `a store that does not answer leaves its rows for the next run`() throws {
    let id = stripe.buy(account: nil)
    stripe.faults.fail(next: [.status(429, retryAfter: 60)])
    let path = try list("account,store,id", "ada,stripe,\(id)")
    let stopped = try coffer("import", path, "--yes", "--wait", "1")
    #expect(stopped.code == 69, "\(stopped.out)")
    #expect(stopped.out.contains("not read yet: "), "\(stopped.out)")
    #expect(stopped.errors.contains("the same command continues"))
    try Files.write("\((Self.now + .minutes(2)).milliseconds)\n", to: scratch.path + "/clock")
    let done = try coffer("import", path, "--yes")
    #expect(done.code == 0, "\(done.out)\(done.errors)")
    #expect(try explained("ada").contains(id))
  }

  @Test(arguments: [
    ("", "it is empty"),
    ("account,id\r\nada,sub_1\r\n", "the column store is missing"),
    ("account,store,id,plan\r\n", "there is no column plan"),
    ("account,store,id,id\r\n", "the column id is there twice"),
    ("account;store;id\r\n", "there is no column account;store;id"),
    ("account,store,id\nada,stripe\n", "line 2 has 2 fields, the first 3"),
    ("account,store,id\n\nada,stripe,\"sub_1\n", "line 3: a quote is never closed"),
    ("account,store,id\nada,stripe,\"sub\"_1\n", "line 2: something follows a closing quote"),
    ("account,store,id\nada,str\"ipe,sub_1\n", "line 2: a quote is inside a field"),
  ])
  func `a list of another form is refused in one line`(text: String, line: String) throws {
    let path = scratch.path + "/list.csv"
    try Files.write(text, to: path)
    let refused = try coffer("import", path, "--yes")
    #expect(refused.code == 1)
    #expect(refused.errors.contains(line), "\(refused.errors)")
    #expect(refused.errors.split(separator: "\n").count == 1)
    #expect(refused.out.isEmpty)
  }
}

/// The same with stores that report nothing by themselves.
struct ImportReadingTests {
  private let scratch: ScratchDirectory
  private let stores: Running
  private let storesPort: UInt16
  private var settings: [String: String] = [:]

  init() throws {
    scratch = try ScratchDirectory()
    storesPort = Ports.free()
    let directory = scratch.path + "/stores"
    stores = try Running(
      "provider-fakes",
      [
        "serve", directory, "--listen", "127.0.0.1:\(storesPort)", "--push",
        "http://127.0.0.1:\(Ports.free())",
      ], environment: [:], port: storesPort)
    for line in (Files.text(directory + "/coffer.env") ?? "").split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
      settings[parts[0]] = parts[1]
    }
  }

  /// A separate Coffer that has received nothing yet.
  private func coffer(_ name: String) throws -> (environment: [String: String], billing: Running) {
    let port = Ports.free()
    let environment = settings.merging([
      "COFFER_DATABASE": "sqlite://\(scratch.path)/\(name)",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_PLANS": RecordedStory.cataloguePath,
    ]) { $1 }
    return (environment, try Running("coffer-billing", environment: environment, port: port))
  }

  private func bought(_ store: String) throws -> String {
    let told = try Finished(
      path: "/usr/bin/curl",
      ["-s", "http://127.0.0.1:\(storesPort)/control/\(store)/buy", "-d", "{}"], environment: [:])
    let match = try #require(told.out.firstMatch(of: #/"id":"([^"]*)"/#))
    return String(match.1)
  }

  private func imported(
    _ environment: [String: String], _ rows: String...
  ) throws -> Finished {
    let path = scratch.path + "/list-\(rows.count).csv"
    try Files.write("account,store,id\n" + rows.joined(separator: "\n"), to: path)
    return try Finished(["import", path, "--yes"], environment: environment)
  }

  private func pass(_ milliseconds: Int64) throws {
    _ = try Finished(
      path: "/usr/bin/curl",
      [
        "-s", "http://127.0.0.1:\(storesPort)/control/clock", "-d",
        "{\"advance_ms\":\(milliseconds)}",
      ], environment: [:])
  }

  @Test func `every store is read by the number that customers have, a renewal's too`() throws {
    let (apple, google) = (try bought("apple"), try bought("google"))
    let (first, firstBilling) = try coffer("first")
    for name in ["ada", "ben"] {
      let created = try Finished(
        ["account", "create", "--username", name, "--key-file", scratch.path + "/\(name).key"],
        environment: first)
      #expect(created.code == 0, "\(created.errors)")
    }
    let both = try imported(first, "ada,apple,\(apple)", "ben,google,\(google)")
    #expect(both.code == 0, "\(both.out)\(both.errors)\n\(firstBilling.log)")
    let explained = try Finished(["entitlement", "explain", "ben", "--wide"], environment: first)
    #expect(explained.out.contains("google:live:purchase:"))
    #expect(!(firstBilling.log + both.out + explained.out).contains(google))
    try pass(2_764_800_000)
    #expect(try Finished(["subscription", "read", apple], environment: first).code == 0)
    var renewal: String?
    for _ in 0..<200 where renewal == nil {
      // The stores' clock does not move by itself, and a read whose lease ended with the month is retried
      // later.
      try pass(10_000)
      let told = try Finished(["entitlement", "explain", "ada", "--json"], environment: first).out
      renewal = told.matches(of: #/transaction:(\d+)/#).map { String($0.1) }
        .first { $0 != apple }
      usleep(50_000)
    }
    let (second, secondBilling) = try coffer("second")
    let created = try Finished(
      ["account", "create", "--username", "ada", "--key-file", scratch.path + "/new.key"],
      environment: second)
    #expect(created.code == 0, "\(created.errors)")
    let later = try imported(second, "ada,apple,\(try #require(renewal))")
    #expect(later.code == 0, "\(later.out)\(later.errors)\n\(secondBilling.log)")
    let owned = try Finished(["entitlement", "explain", "ada"], environment: second).out
    #expect(owned.contains("apple:live:subscription:\(apple)"), "\(owned)")
  }
}
