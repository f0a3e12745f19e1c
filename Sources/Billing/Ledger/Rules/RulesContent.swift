import Base
import Configuration
package import JSON
import Subscriptions
import Tiers

extension LedgerRules {
  /// Everything that a derived row depends on, in one text: equal rules give equal texts.
  package var content: JSONValue {
    [
      "policy": .string(policy.version), "environment": .string(grantingEnvironment.rawValue),
      "sandbox_accounts": .array(sandboxAccounts.sorted().map { .string($0.description) }),
      "catalogue": catalogue.content,
    ]
  }

  /// The same policy with the rest from `content`. Nil if that names another policy, which is code
  /// of another version of this program.
  func with(content: JSON) throws -> LedgerRules? {
    guard try content["policy"].requireString() == policy.version else { return nil }
    return try adopting(content)
  }

  /// The same policy with the rest from `content`, whichever policy that names.
  func adopting(_ content: JSON) throws -> LedgerRules {
    LedgerRules(
      policy: policy,
      catalogue: try Catalogue(content: content["catalogue"], shown: content["shown"]),
      grantingEnvironment: try content["environment"].require("live or sandbox"),
      sandboxAccounts: Set(
        try content["sandbox_accounts"].requireArray().compactMap {
          Identifier(try $0.requireString())
        }))
  }
}
