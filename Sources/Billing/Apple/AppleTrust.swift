import Base
import Crypto
import Stores

/// An app of ours.
package struct AppleApp: Sendable, Hashable {
  package let bundleID: String
  /// Its number in App Store Connect; nil while it is only in the sandbox.
  package let appAppleID: Int64?

  package init(bundleID: String, appAppleID: Int64?) {
    self.bundleID = bundleID
    self.appAppleID = appAppleID
  }
}

/// The roots to trust, and the apps to accept.
package struct AppleTrust: Sendable {
  let apps: [AppleApp]
  /// Each root on its own, by its text in a header's `x5c`.
  let roots: [String: X509Trust]

  /// Nil if there is no root or no app, or if one cannot be used. Anyone who holds a root of our own can forge
  /// purchases, so those are for tests and demonstrations.
  package init?(roots: [[UInt8]] = [AppleRootCA.der], apps: [AppleApp]) {
    guard !roots.isEmpty, !apps.isEmpty, apps.allSatisfy({ isID($0.bundleID) }) else { return nil }
    var trusts: [String: X509Trust] = [:]
    for root in roots {
      guard let certificate = X509Certificate(der: root),
        let trust = X509Trust(roots: [certificate])
      else { return nil }
      trusts[Base64.standard.encode(root)] = trust
    }
    self.apps = apps
    self.roots = trusts
  }

  /// The same for one app.
  package init?(roots: [[UInt8]] = [AppleRootCA.der], bundleID: String, appAppleID: Int64?) {
    self.init(roots: roots, apps: [AppleApp(bundleID: bundleID, appAppleID: appAppleID)])
  }
}
