package import Base
package import Configuration
package import Stores
package import Subscriptions
package import Tiers

/// The rules that turn facts into entitlement. A change of any of them derives everything again.
package struct LedgerRules: Sendable {
  package let policy: Policy
  /// Includes what earlier catalogues sold, once it was read from the database.
  package private(set) var catalogue: Catalogue
  /// The environment whose subscriptions count. Sandbox money buys nothing unless a deployment says so.
  package let grantingEnvironment: StoreEnvironment
  /// The accounts of testers and reviewers, for whom sandbox purchases count as well.
  package let sandboxAccounts: Set<Identifier>
  /// Identifies all rules: the SHA-256 of everything that a derived row depends on.
  package private(set) var digest = ""
  /// The number of the change that put them in force; 0 before any has.
  private(set) var change: Int64 = 0

  package init(
    policy: Policy = .standard, catalogue: Catalogue,
    grantingEnvironment: StoreEnvironment = .live, sandboxAccounts: Set<Identifier> = []
  ) {
    self.policy = policy
    self.catalogue = catalogue
    self.grantingEnvironment = grantingEnvironment
    self.sandboxAccounts = sandboxAccounts
    digest = content.digest
  }

  /// The same rules with another catalogue.
  package func replacing(_ catalogue: Catalogue) -> LedgerRules {
    LedgerRules(
      policy: policy, catalogue: catalogue, grantingEnvironment: grantingEnvironment,
      sandboxAccounts: sandboxAccounts)
  }

  /// The same rules, in force since `change`, with what earlier catalogues sold, which is still owed.
  package func keeping(_ plans: [Plan], since change: Int64 = 0) -> LedgerRules {
    var rules = self
    rules.catalogue = catalogue.keeping(plans)
    rules.change = change
    return rules
  }

  /// Identifies everything that a derived row depends on except the catalogue.
  var policyVersion: String {
    let testers = sandboxAccounts.sorted().map(\.description).joined(separator: "+")
    return "\(policy.version)/\(grantingEnvironment.rawValue)"
      + (testers.isEmpty ? "" : "/\(testers)")
  }

  /// Whether what is owed in `environment` counts for the account.
  package func grants(_ environment: String, to account: Identifier) -> Bool {
    environment == grantingEnvironment.rawValue
      || environment == StoreEnvironment.sandbox.rawValue && sandboxAccounts.contains(account)
  }
}

extension LedgerRules {
  /// The rules by which `coffer-billing` is configured, with the catalogue in force.
  package init(_ configuration: BillingConfiguration, _ catalogue: Catalogue) {
    self.init(
      catalogue: catalogue,
      grantingEnvironment: configuration.grantingEnvironment,
      sandboxAccounts: configuration.sandboxAccounts)
  }

  /// The rules by a command's configuration, which must be that of `coffer-billing`.
  package init(_ configuration: DatabaseConfiguration) {
    self.init(
      catalogue: configuration.catalogue,
      grantingEnvironment: configuration.grantingEnvironment,
      sandboxAccounts: configuration.sandboxAccounts)
  }
}

extension Ledger {
  /// The ledger of a command that requests reads.
  package init(stores: StoreList, _ configuration: DatabaseConfiguration) {
    self.init(
      stores: stores, rules: LedgerRules(configuration),
      readable: Set(configuration.askedStores.compactMap { ObjectKey.Provider(rawValue: $0) }),
      for: .command)
  }
}
