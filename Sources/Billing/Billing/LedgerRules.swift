package import Subscriptions
package import Tiers

/// What turns facts into entitlement; a change of its versions derives everything again.
package struct LedgerRules: Sendable {
  package let policy: Policy
  package let catalogue: Catalogue
  /// Whose subscriptions count: sandbox money buys nothing unless a deployment says so.
  package let grantingPartition: ObjectKey.Partition

  package init(
    policy: Policy = .standard, catalogue: Catalogue,
    grantingPartition: ObjectKey.Partition = .live
  ) {
    self.policy = policy
    self.catalogue = catalogue
    self.grantingPartition = grantingPartition
  }

  /// Names everything but the catalogue that a derived row depends on.
  var policyVersion: String { "\(policy.version)/\(grantingPartition.rawValue)" }
}
