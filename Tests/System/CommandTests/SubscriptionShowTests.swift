import Goldens
import JSON
import RecordedStories
import TestEngines
import Testing

/// Everything known about one purchase, found by any of its numbers.
struct SubscriptionShowTests {
  @Test func `every number of a purchase shows the same`() throws {
    let shop = try FirstPurchase()
    let expected = try shop.coffer("subscription", "show", FirstPurchase.subscription).out
    for text in [
      FirstPurchase.story.subscriptions[0], "cus_wPybeVXKtex0ft", "in_1BVsOVLk4QzTmRvXcE0wtAYz",
      "invoice: bnnkfta7-0001", FirstPurchase.paid, "#3", "  <Customer-2@Example.COM> ",
      "https://dashboard.stripe.com/customers/cus_wPybeVXKtex0ft/",
    ] {
      let shown = try shop.coffer("subscription", "show", text)
      #expect(shown.code == 0 && shown.out == expected, "\(text): \(shown.errors)\(shown.out)")
    }
  }

  @Test func `it is a page for people and a value for programs`() throws {
    let shop = try FirstPurchase()
    let words = ["subscription", "show", FirstPurchase.subscription]
    let text = try Finished(words, environment: shop.environment).out
    try expectGolden(text, "subscription-show")
    let json = try JSON.parse(
      Array(try Finished(words + ["--json"], environment: shop.environment).out.utf8))
    #expect(json["owner"].string == FirstPurchase.account)
    #expect(try json["customers"].requireArray().map(\.string) == ["cus_wPybeVXKtex0ft"])
    #expect(json["state"]["label"].string == "active")
    #expect(try json["state"]["payments"].requireArray().count == 1)
    #expect(json["delivery_count"].integer == Int64(try json["deliveries"].requireArray().count))
  }

  @Test func `it says who claimed it, who had it before and what was ordered`() throws {
    let shop = try FirstPurchase()
    #expect(
      try shop.coffer(
        "account", "create", "--username", "bob", "--public-key",
        "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="
      ).code == 0)
    #expect(
      try shop.coffer(
        "subscription", "transfer", FirstPurchase.subscription, "bob", "--reason", "his", "--yes"
      ).code == 0)
    let ada = FirstPurchase.account.filter { $0 != "-" }
    try shop.write(
      """
      INSERT INTO billing.refused_claims (object, account_id, refused_ms)
      VALUES ('\(FirstPurchase.subscription)', x'\(ada)', 1772445610000)
      """)
    try shop.write(
      """
      INSERT INTO billing.orders (number, subscription, kind, payment, state, asked_ms, answer)
      VALUES (7, '\(FirstPurchase.subscription)', 'refund', 'in_1', 'failed', 1772445610000, 'no such charge')
      """)
    let shown = try shop.coffer("subscription", "show", FirstPurchase.subscription, "--wide").out
    #expect(shown.contains("(bob)\n"), "\(shown)")
    #expect(shown.contains("an operator transferred it (decision "), "\(shown)")
    #expect(shown.firstMatch(of: #/until 20\S+Z +\S+ \(ada\)/#) != nil, "\(shown)")
    #expect(shown.firstMatch(of: #/its store names +\S+ \(ada\)/#) != nil, "\(shown)")
    #expect(
      shown.contains(
        "subscription transfer \(FirstPurchase.subscription) \(FirstPurchase.account)"),
      "\(shown)")
    #expect(
      shown.firstMatch(of: #/billing:7 +\S+ +refund +failed +no such charge/#) != nil, "\(shown)")
  }

  @Test func `what an unknown product counts as is by the catalogue of record`() throws {
    let scratch = try ScratchDirectory()
    defer { withExtendedLifetime(scratch) {} }
    let plans = try scratch.write(
      PlanTests.catalogue.replacing(#""fallback":null"#, with: #""fallback":"premium""#),
      to: "plans.json")
    let shop = try FirstPurchase(adding: ["COFFER_PLANS": plans])
    let shown = try shop.coffer(
      "subscription", "show", FirstPurchase.subscription, without: "COFFER_PLANS")
    let words = shown.out.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("it counts as the plan premium"), "\(shown.out)\(shown.errors)")
  }

  @Test func `what names no purchase is refused in one line`() throws {
    let shop = try FirstPurchase()
    for (text, line) in [
      (
        "sub_nosuch",
        "there is no purchase sub_nosuch; coffer find sub_nosuch also searches accounts"
      ),
      ("ada", "there is no purchase ada; coffer find ada also searches accounts"),
      ("MK5TTTVWJH", "there is no purchase MK5TTTVWJH"),
      ("\u{1B}[31m", "there is no purchase "),
    ] {
      let shown = try shop.coffer("subscription", "show", text)
      #expect(shown.code == 1)
      #expect(shown.errors.contains(line), "\(shown.errors)")
      #expect(shown.errors.split(separator: "\n").count == 1 && !shown.errors.contains("\u{1B}"))
    }
  }
}
