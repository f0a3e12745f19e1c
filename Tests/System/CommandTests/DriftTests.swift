import RecordedStories
import TestEngines
import Testing

/// What somebody, or a fault, changed of what follows from the facts.
struct DriftTests {
  /// The state and text of the check, as JSON has them.
  private func drift(_ shop: FirstPurchase, _ words: String...) throws -> String {
    let found = try Finished(["doctor", "--json"] + words, environment: shop.environment)
    let check = found.out.split(separator: "{").first { $0.hasPrefix(#""name":"drift""#) }
    return check.map(String.init) ?? "\(found.out)\(found.errors)"
  }

  @Test(arguments: [
    (
      "UPDATE billing.entitlements SET cap_bytes = cap_bytes + 7 WHERE cap_bytes > 1000000",
      "the schedule of the account \(FirstPurchase.account)"
    ),
    (
      "DELETE FROM billing.entitlements", "the schedule of the account \(FirstPurchase.account)"
    ),
    // Right by now, and wrong for the time of which it is.
    (
      "UPDATE billing.subscriptions SET updated_ms = 1000",
      "the subscription \(FirstPurchase.story.subscriptions[0])"
    ),
    (
      "UPDATE billing.subscriptions SET owner = NULL, owner_evidence = 'none'",
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

  private func cap(_ explained: String) -> Substring? {
    explained.firstMatch(of: #/"cap(_bytes)?":(\d+)/#)?.output.2
  }
}
