import BTCPay
import Base
import Configuration
import Testing
import Tiers

struct SettingsTests {
  private static let complete = [
    "COFFER_DATABASE": "sqlite:///tmp/coffer", "COFFER_SEALING_KEYS": key,
    "COFFER_BTCPAY_URL": "https://pay.example.com",
    "COFFER_BTCPAY_STORE_ID": Samples.store, "COFFER_BTCPAY_API_KEY": "0123456789abcdef01234567",
    "COFFER_BTCPAY_WEBHOOK_SECRETS": "new-secret-0123456, old-secret-0123456",
  ]
  private static let key = Base64.standard.encode([UInt8](repeating: 7, count: 32))
  private static let table = SettingsTable(stores: [BTCPayConfiguration.self])

  private func settings(_ changes: [String: String?]) -> Settings {
    var given = Self.complete
    for (name, value) in changes { given[name] = value }
    return Settings(Self.table, environment: given)
  }

  private func problems(_ changes: [String: String?]) -> [String] {
    do throws(ConfigurationError) {
      _ = try BillingConfiguration(settings(changes))
      return []
    } catch {
      return error.lines
    }
  }

  @Test func `four settings are a server, in any order of secrets`() throws {
    let configuration = try #require(
      try BillingConfiguration(settings([:])).store(BTCPayConfiguration.self))
    #expect(configuration.url == "https://pay.example.com")
    #expect(configuration.storeID == Samples.store)
    #expect(configuration.apiKey.exposed == Array("0123456789abcdef01234567".utf8))
    #expect(
      configuration.webhookSecrets.map(\.exposed) == [
        Array("new-secret-0123456".utf8), Array("old-secret-0123456".utf8),
      ])
    let off = settings([
      "COFFER_BTCPAY_URL": nil, "COFFER_BTCPAY_STORE_ID": nil, "COFFER_BTCPAY_API_KEY": nil,
      "COFFER_BTCPAY_WEBHOOK_SECRETS": nil,
    ])
    #expect(try BillingConfiguration(off).stores.isEmpty)
  }

  @Test(arguments: [
    "COFFER_BTCPAY_STORE_ID", "COFFER_BTCPAY_API_KEY", "COFFER_BTCPAY_WEBHOOK_SECRETS",
  ])
  func `none of them is there without the others`(name: String) {
    #expect(problems([name: nil]) == ["\(name): is required with COFFER_BTCPAY_URL"])
    var others: [String: String?] = ["COFFER_BTCPAY_URL": nil]
    for other in Self.complete.keys where other.hasPrefix("COFFER_BTCPAY_") && other != name {
      others.updateValue(nil, forKey: other)
    }
    let alone = problems(others)
    #expect(alone == ["\(name) (environment): is set, but COFFER_BTCPAY_URL is not"])
  }

  @Test(
    arguments: [
      ("COFFER_BTCPAY_URL", "pay.example.com"), ("COFFER_BTCPAY_URL", "https://pay.example.com/"),
      ("COFFER_BTCPAY_URL", "http://pay.example.com"),
      ("COFFER_BTCPAY_URL", "https://user:pass@pay.example.com"),
      ("COFFER_BTCPAY_STORE_ID", "short"),
      ("COFFER_BTCPAY_STORE_ID", "4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiM/../x"),
      ("COFFER_BTCPAY_API_KEY", "short"), ("COFFER_BTCPAY_API_KEY", "0123456789 0123456789"),
      ("COFFER_BTCPAY_WEBHOOK_SECRETS", "short"),
      ("COFFER_BTCPAY_WEBHOOK_SECRETS", "new-secret-0123456,"),
      ("COFFER_BTCPAY_WEBHOOK_SECRETS", "new-secret-0123456, with blanks 01234567"),
    ])
  func `a value that cannot be right is refused without repeating it`(name: String, value: String) {
    let problems = problems([name: value])
    #expect(problems.count == 1)
    #expect(problems[0].hasPrefix("\(name) (environment): "))
    if name.hasSuffix("KEY") || name.hasSuffix("SECRETS") || value.contains("pass") {
      #expect(!problems[0].contains(value))
    }
  }

  @Test func `key and secrets stay out of what is shown`() {
    let rows = EffectiveSettings(settings([:])).rows
    for name in ["COFFER_BTCPAY_API_KEY", "COFFER_BTCPAY_WEBHOOK_SECRETS"] {
      #expect(rows.first { $0.name == name }?.shown == "<secret>")
    }
  }

  @Test func `a product without a price can be none of its`() {
    func product(_ id: String, _ price: Plan.Price?, of name: String?) -> Plan.Product {
      Plan.Product(provider: "btcpay", id: id, price: price, productID: name)
    }
    let price = Plan.Price(amountMinorUnits: 299, currency: "eur", interval: .month)
    let priced = Plan(
      id: "premium", title: "", byteCount: 1,
      products: [product("month", price, of: "premium"), product("premium", nil, of: nil)])
    for product in priced.products {
      #expect(BTCPayConfiguration.refusal(of: product, of: priced) == nil)
    }
    let unpriced = Plan(
      id: "premium", title: "", byteCount: 1,
      products: [product("month", nil, of: "premium"), product("premium", nil, of: nil)])
    #expect(BTCPayConfiguration.refusal(of: unpriced.products[0], of: unpriced) != nil)
    let bare = Plan(
      id: "premium", title: "", byteCount: 1, products: [product("premium", nil, of: nil)])
    #expect(BTCPayConfiguration.refusal(of: bare.products[0], of: bare) != nil)
  }
}
