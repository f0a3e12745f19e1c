import Configuration
import JSON
import Testing
import Tiers

struct CatalogueFileTests {
  static let free = #""free":{"id":"free","title":"Free","bytes":1000000}"#

  private func product(_ product: String, _ price: String?, _ amount: Int = 299) -> String {
    let price = price.map {
      #","price":"\#($0)","amount":\#(amount),"currency":"usd","interval":"month""#
    }
    return #"{"provider":"stripe","product":"\#(product)"\#(price ?? "")}"#
  }

  private func plan(_ id: String, _ products: String...) -> String {
    #"{"id":"\#(id)","title":"\#(id)","bytes":30000000000,"products":[\#(products.joined(separator: ","))]}"#
  }

  private func catalogue(_ members: String...) throws(CatalogueFile.Failure) -> Catalogue {
    let text = "{" + ([#""version":"1""#, Self.free] + members).joined(separator: ",") + "}"
    return try CatalogueFile.catalogue(of: Array(text.utf8))
  }

  private func refusal(_ members: String...) -> String? {
    do throws(CatalogueFile.Failure) {
      let text = "{" + members.joined(separator: ",") + "}"
      _ = try CatalogueFile.catalogue(of: Array(text.utf8))
      return nil
    } catch {
      return error.text
    }
  }

  @Test func `a price and its product both mean the plan`() throws {
    let catalogue = try catalogue(
      #""plans":["#
        + plan("premium", product("prod_1", "price_1"), product("prod_1", "price_2", 3000))
        + "]")
    let premium = try #require(catalogue.plan("premium"))
    #expect(catalogue.mapping(provider: "stripe", price: "price_2", product: nil) == .plan(premium))
    #expect(
      catalogue.mapping(provider: "stripe", price: "price_new", product: "prod_1") == .plan(premium)
    )
    #expect(premium.prices.map(\.amountMinorUnits) == [299, 3000])
  }

  @Test func `a product shared by two plans means neither by itself`() throws {
    let catalogue = try catalogue(
      #""plans":["#
        + plan("small", product("prod_1", "price_1")) + ","
        + plan("large", product("prod_1", "price_2", 999)) + "]")
    #expect(catalogue.mapping(provider: "stripe", price: nil, product: "prod_1") == .unknown)
    let large = try #require(catalogue.plan("large"))
    #expect(
      catalogue.mapping(provider: "stripe", price: "price_2", product: "prod_1") == .plan(large))
  }

  @Test func `an ignored product is neither a plan nor unknown`() throws {
    let catalogue = try catalogue(
      #""plans":[]"#, #""ignored":[{"provider":"stripe","product":"prod_mug"}]"#)
    #expect(catalogue.mapping(provider: "stripe", price: nil, product: "prod_mug") == .ignored)
  }

  @Test func `without a fee the standard fee holds and without a fallback nothing is granted`()
    throws
  {
    let catalogue = try catalogue(#""plans":[]"#, #""fallback":null"#)
    #expect(catalogue.metadataFeeByteCount == 1000)
    #expect(catalogue.fallbackPlanID == nil)
  }

  @Test(arguments: [
    (#""plans":[]"#, "$.version: "),
    (#""version":"1","plans":[]"#, "$.free: "),
    (#""version":"1","# + Self.free + #","plans":{}"#, "$.plans: "),
    (
      #""version":"1","# + Self.free + #","plans":[],"fallbck":null"#,
      "$.fallbck: there is no such member"
    ),
    (
      #""version":"1","# + Self.free + #","plans":[],"fallback":"gold""#,
      "$.fallback: there is no plan gold"
    ),
    (
      #""version":"1","# + Self.free
        + #","plans":[{"id":"a","title":"A","bytes":1.5,"products":[]}]"#,
      "$.plans[0].bytes: "
    ),
    (
      #""version":"1","# + Self.free
        + #","plans":[{"id":"a","title":"A","bytes":999999,"products":[]}]"#,
      "plan a: 999999 bytes are fewer than the 1000000 of the free plan"
    ),
    (#""version":"1","version":"2""#, "$"),
  ])
  func `a refusal says where`(members: String, beginning: String) {
    let text = refusal(members)
    #expect(text?.hasPrefix(beginning) == true, "\(text ?? "accepted")")
  }

  @Test func `an interval that no provider sells is refused`() {
    let row =
      #"{"provider":"stripe","product":"p","price":"q","amount":1,"currency":"usd","interval":"day"}"#
    #expect(
      refusal(#""version":"1""#, Self.free, #""plans":["# + plan("a", row) + "]")
        == "$.plans[0].products[0].interval: must be month or year")
  }

  @Test func `a former plan may have no days, but not fewer`() throws {
    let read = try catalogue(#""plans":[]"#, #""former_plan_days":0"#)
    #expect(read.formerPlanDays == 0)
    #expect(
      refusal(#""version":"1""#, Self.free, #""plans":[]"#, #""former_plan_days":-1"#)
        == "$.former_plan_days: must not be negative")
  }

  @Test func `a record's fee is at most a gigabyte`() throws {
    #expect(
      try catalogue(#""plans":[]"#, #""metadata_fee_bytes":1000000000"#).metadataFeeByteCount
        == 1_000_000_000)
    #expect(
      refusal(
        #""version":"1""#, Self.free, #""plans":[]"#,
        #""metadata_fee_bytes":9223372036854775807"#)
        == "$.metadata_fee_bytes: must not exceed 1000000000")
  }

  private func priced(_ days: String, price: String = #""price":"q","#) -> String {
    #"{"provider":"stripe","product":"p",\#(price)"amount":1,"currency":"usd","interval":"month","#
      + #""trial_days":\#(days)}"#
  }

  @Test func `free days are of one price, as many as Stripe takes`() throws {
    let read = try catalogue(#""plans":["# + plan("a", priced("14")) + "]")
    #expect(read.paid[0].products.map(\.trialDays) == [14, nil])
    let again = try Catalogue(
      content: JSON.parse(read.content.encoded()), shown: JSON.parse(read.shown.encoded()))
    #expect(again.paid[0].products.first { $0.id == "q" }?.trialDays == 14)
  }

  @Test(arguments: [
    ("0", "must be from 1 to 730"), ("731", "must be from 1 to 730"), ("\"14\"", "must be"),
  ])
  func `free days that nobody can give are refused`(days: String, sentence: String) {
    let text = refusal(
      #""version":"1""#, Self.free, #""plans":["# + plan("a", priced(days)) + "]")
    #expect(
      text?.hasPrefix("$.plans[0].products[0].trial_days: \(sentence)") == true, "\(text ?? "")")
  }

  @Test func `free days without a price are refused`() {
    let text = refusal(
      #""version":"1""#, Self.free, #""plans":["# + plan("a", priced("14", price: "")) + "]")
    #expect(text == "$.plans[0].products[0].trial_days: is of a price, and none is named")
  }
}
