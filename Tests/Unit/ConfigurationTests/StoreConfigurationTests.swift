import Configuration
import Testing
import Tiers

/// The configuration of a store that the rest of Coffer knows nothing of.
struct StoreConfigurationTests {
  /// A minimal store.
  struct Market: StoreConfiguration {
    let token: String

    static let store = "market"
    static let settings: [any AnySetting] = [tokenSetting]
    static let tokenSetting = Setting<String>(
      "COFFER_MARKET_TOKEN", for: [.billing], .meaning("the market is off"),
      text: "The market's token.", example: "sandbox-1", parser: .text, isSecret: { _ in true })

    init?(reading reader: inout SettingsReader) {
      guard let token = reader.value(Self.tokenSetting) else { return nil }
      self.token = token
    }

    static func isAsked(_ reader: SettingsReader) -> Bool { reader.has(tokenSetting) }

    static func grantingEnvironment(
      reading reader: inout SettingsReader
    ) -> StoreEnvironment? {
      reader.value(tokenSetting).map { $0.hasPrefix("sandbox-") ? .sandbox : .live }
    }

    static func refusal(of product: Plan.Product, of plan: Plan) -> String? {
      product.id.hasPrefix("m-") ? nil : "a product of the market begins with m-"
    }
  }

  private static let table = SettingsTable(stores: [Market.self])

  private func settings(_ more: [String: String]) -> Settings {
    let given = BillingConfigurationTests.complete.merging(more) { $1 }
    return Settings(Self.table, environment: given)
  }

  private func problems(_ more: [String: String]) -> [String] {
    do throws(ConfigurationError) {
      _ = try BillingConfiguration(settings(more))
      return []
    } catch {
      return error.lines
    }
  }

  private func catalogue(product: String) throws -> ScratchFile {
    try ScratchFile(
      """
      {"version":"1","free":{"id":"free","title":"Free","bytes":1},"plans":[{"id":"premium",\
      "title":"Premium","bytes":2,"products":[{"provider":"market","product":"\(product)"},\
      {"provider":"elsewhere","product":"x"}]}]}
      """)
  }

  @Test func `a store's settings are those of the table that it stands in`() {
    #expect(
      SettingsHelp.markdown(Self.table).contains("| `COFFER_MARKET_TOKEN` | coffer-billing |"))
    #expect(problems(["COFFER_MARKET_TOKEN": "live-1"]) == [])
    #expect(
      problems(["COFFER_STRIPE_API_KEY": "sk_test_1"])
        == ["COFFER_STRIPE_API_KEY (environment): no such setting"])
  }

  @Test func `a store that is off has no configuration`() throws {
    #expect(try BillingConfiguration(settings([:])).stores.isEmpty)
    let market = try BillingConfiguration(settings(["COFFER_MARKET_TOKEN": "live-1"]))
      .store(Market.self)
    #expect(market?.token == "live-1")
  }

  @Test func `a store may say which environment grants, and live is what holds without`() throws {
    #expect(try BillingConfiguration(settings([:])).grantingEnvironment == .live)
    let given = settings(["COFFER_MARKET_TOKEN": "sandbox-1"])
    #expect(try BillingConfiguration(given).grantingEnvironment == .sandbox)
    #expect(try DatabaseConfiguration(given).grantingEnvironment == .sandbox)
  }

  @Test func `a command knows which stores are asked`() throws {
    #expect(try DatabaseConfiguration(settings([:])).askedStores == [])
    let given = settings(["COFFER_MARKET_TOKEN": "live-1"])
    #expect(try DatabaseConfiguration(given).askedStores == ["market"])
  }

  @Test func `a store's products in the catalogue are judged by the store alone`() throws {
    let right = try catalogue(product: "m-1")
    #expect(problems(["COFFER_PLANS": right.path]) == [])
    let wrong = try catalogue(product: "premium")
    #expect(
      problems(["COFFER_PLANS": wrong.path]) == [
        "COFFER_PLANS (environment): plan premium, product premium: a product of the market "
          + "begins with m-"
      ])
  }

  @Test func `a secret of a store stays out of what is shown`() {
    let effective = EffectiveSettings(settings(["COFFER_MARKET_TOKEN": "live-hunter2"]))
    #expect(effective.rows.first { $0.name == "COFFER_MARKET_TOKEN" }?.shown == "<secret>")
  }
}
