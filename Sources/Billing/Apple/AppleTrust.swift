internal import Base
internal import Crypto
internal import Stores

/// Whom to believe, and about which app.
package struct AppleTrust: Sendable {
  package let bundleID: String
  /// The app's number in App Store Connect; nil while it is only in the sandbox.
  package let appAppleID: Int64?
  /// Each root alone, under its text in a header's `x5c`.
  let roots: [String: X509Trust]

  /// Nil where there is no root, one is no certificate, or the bundle id is no id.
  ///
  /// Roots of our own are for tests and demonstrations: whoever holds one can forge purchases.
  package init?(roots: [[UInt8]] = [AppleRootCA.der], bundleID: String, appAppleID: Int64?) {
    guard !roots.isEmpty, isID(bundleID) else { return nil }
    var trusts: [String: X509Trust] = [:]
    for root in roots {
      guard let certificate = X509Certificate(der: root),
        let trust = X509Trust(roots: [certificate])
      else { return nil }
      trusts[Base64.standard.encode(root)] = trust
    }
    self.bundleID = bundleID
    self.appAppleID = appAppleID
    self.roots = trusts
  }
}
