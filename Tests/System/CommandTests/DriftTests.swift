import RecordedStories
import Testing

/// Derived rows that a person or a fault has changed.
struct DriftTests {
  /// The state and text of the check, from its JSON.
  private func drift(_ shop: FirstPurchase, _ words: String...) throws -> String {
    let found = try Finished(["doctor", "--json"] + words, environment: shop.environment)
    let check = found.out.split(separator: "{").first { $0.hasPrefix(#""name":"drift""#) }
    return check.map(String.init) ?? "\(found.out)\(found.errors)"
  }

  @Test(arguments: [
    (
      "UPDATE billing.entitlements SET cap_bytes = cap_bytes - 7 WHERE cap_bytes > 1000000",
      "the schedule of the account \(FirstPurchase.account)"
    ),
    (
      "DELETE FROM billing.entitlements", "the schedule of the account \(FirstPurchase.account)"
    ),
    // Correct now, but wrong for the row's own time.
    (
      "UPDATE billing.subscriptions SET updated_ms = 1000",
      "the subscription \(FirstPurchase.story.subscriptions[0])"
    ),
    (
      "UPDATE billing.subscriptions SET owner = NULL, owner_evidence = 'none'",
      "the subscription \(FirstPurchase.story.subscriptions[0])"
    ),
    (
      "DELETE FROM billing.subscriptions",
      "the subscription \(FirstPurchase.story.subscriptions[0])"
    ),
  ])
  func `what is not as the facts say is told, derived again, and noted`(
    change: String, first: String
  ) throws {
    let shop = try FirstPurchase()
    #expect(try drift(shop, "--all").contains(#""state":"ok""#))
    let before = try shop.coffer("entitlement", "explain", "ada", "--json").out
    try shop.write(change)
    let found = try drift(shop, "--all")
    #expect(found.contains(#""state":"failed""#) && found.contains("the first is \(first)"))
    #expect(found.contains("coffer doctor --all --fix"))
    let fixed = try drift(shop, "--all", "--fix")
    #expect(fixed.contains(#""state":"ok","text":"derived again: "#), "\(fixed)")
    #expect(try drift(shop, "--all").contains("as the facts say: 1 subscription"))
    let after = try shop.coffer("entitlement", "explain", "ada", "--json").out
    #expect(cap(after) == cap(before))
    #expect(try shop.coffer("audit", "list").out.contains("doctor"))
    #expect(try shop.coffer("audit", "verify").code == 0)
  }

  /// Accounts whose schedule follows from decisions alone, or from nothing.
  @Test(arguments: [
    (
      "UPDATE billing.entitlements SET cap_bytes = cap_bytes - 7 WHERE reason = 'granted'", bob
    ),
    ("DELETE FROM billing.entitlements WHERE account_id <> x'\(ada)'", bob),
    (
      "INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason) "
        + "VALUES (x'00000000000040008000000000000009', 0, 7, 'premium', 'granted')",
      "00000000-0000-4000-8000-000000000009"
    ),
  ])
  func `a schedule without a subscription is compared, too, and derived again`(
    change: String, account: String
  ) throws {
    let shop = try FirstPurchase()
    _ = try shop.coffer(
      "account", "create", "--id", Self.bob, "--username", "bob", "--public-key",
      "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=")
    let granted = try shop.coffer(
      "entitlement", "grant", "bob", "--plan", "premium", "--reason", "press", "--yes")
    #expect(granted.code == 0, "\(granted.errors)")
    #expect(try drift(shop, "--all").contains("as the facts say: 1 subscription and 2 schedules"))
    try shop.write(change)
    for words in [[], ["--all"]] {
      let found = try Finished(["doctor"] + words, environment: shop.environment).out
      #expect(found.contains("the first is the schedule of the account \(account)"), "\(found)")
    }
    #expect(try drift(shop, "--all", "--fix").contains(#""state":"ok","text":"derived again: "#))
    #expect(try drift(shop, "--all").contains(#""state":"ok""#))
    #expect(try shop.coffer("audit", "list").out.contains("doctor"))
  }

  @Test(arguments: [
    ("DELETE FROM billing.mirrors", "\(FirstPurchase.account) from 30 GB to 1 MB"),
    (
      "UPDATE billing.entitlements SET cap_bytes = cap_bytes * 2 WHERE cap_bytes > 1000000",
      "\(FirstPurchase.account) from 60 GB to 30 GB"
    ),
    (
      "INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason) "
        + "VALUES (x'00000000000040008000000000000009', 0, 7000000000000, 'premium', 'granted')",
      "00000000-0000-4000-8000-000000000009 from 7 TB to 1 MB"
    ),
  ])
  func `what would take room from an account is left and named, until that is wanted`(
    change: String, loss: String
  ) throws {
    let shop = try FirstPurchase()
    try shop.write(change)
    let before = try shop.coffer("entitlement", "explain", "ada", "--json").out
    let left = try drift(shop, "--all", "--fix")
    #expect(
      left.contains(#""state":"failed","text":"left, because a cap would shrink: \#(loss)""#),
      "\(left)")
    #expect(left.contains("coffer doctor --all --fix --shrink"))
    #expect(cap(try shop.coffer("entitlement", "explain", "ada", "--json").out) == cap(before))
    #expect(try shop.coffer("audit", "list", "--json").out.contains("doctor") == false)
    let fixed = try drift(shop, "--all", "--fix", "--shrink")
    #expect(fixed.contains(#""state":"ok","text":"derived again: "#), "\(fixed)")
    #expect(try drift(shop, "--all").contains(#""state":"ok""#))
  }

  @Test func `a subscription whose row was lost goes on with the deliveries to come`() throws {
    let shop = try FirstPurchase()
    let before = try shop.coffer("entitlement", "explain", "ada").out
    try shop.write("DELETE FROM billing.subscriptions")
    #expect(try drift(shop, "--all", "--fix").contains(#""state":"ok""#))
    #expect(try shop.coffer("entitlement", "explain", "ada").out == before)
  }

  private static let bob = "0b5c0a2e-0000-4000-8000-00000000000b"
  private static let ada = FirstPurchase.account.filter { $0 != "-" }

  private func cap(_ explained: String) -> Substring? {
    explained.firstMatch(of: #/"cap(_bytes)?":(\d+)/#)?.output.2
  }
}
