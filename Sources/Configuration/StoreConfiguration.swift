package import Base

/// What `coffer-billing` needs to know about the App Store; there is none where it is off.
package struct AppleConfiguration: Sendable {
  package let bundleID: String
  /// Nil where only sandbox notifications are taken.
  package let appID: Int64?
  /// The root that signatures must lead to, in DER; nil is Apple's own, which is built in.
  package let root: [UInt8]?
  /// Nil where the App Store is never asked.
  package let api: API?

  package struct API: Sendable {
    package let issuerID: String
    package let keyID: String
    /// PKCS#8 in PEM.
    package let key: Secret
    package let url: String
    package let sandboxURL: String
  }
}

/// What `coffer-billing` needs to know about Google Play; there is none where it is off.
package struct GoogleConfiguration: Sendable {
  package let package: String
  package let pushAudience: String
  package let pushEmail: String
  /// The service account's key file, JSON.
  package let serviceAccount: Secret
  package let apiURL: String
  package let keysURL: String
}

extension SettingsReader {
  mutating func apple() -> AppleConfiguration? {
    let appID = appleAppID()
    let root = appleRoot()
    let api = appleAPI()
    guard let bundleID = text(.appleBundleID) else {
      for key in [Key.appleAppID, .appleRootFile, .appleIssuerID] where has(key) {
        refuse(key, "is set, but \(Key.appleBundleID.rawValue) is not")
      }
      return nil
    }
    if !isPrintable(bundleID) || bundleID.utf8.count > 155 {
      refuse(.appleBundleID, "\(quoted(bundleID)) is no bundle id")
    }
    return AppleConfiguration(bundleID: bundleID, appID: appID, root: root, api: api)
  }

  private mutating func appleAppID() -> Int64? {
    guard let text = text(.appleAppID) else { return nil }
    guard let number = Int64(text), number > 0 else {
      refuse(.appleAppID, "\(quoted(text)) is no number")
      return nil
    }
    return number
  }

  private mutating func appleRoot() -> [UInt8]? {
    guard has(.appleRootFile) else { return nil }
    guard text(.mode) == "test" else {
      refuse(.appleRootFile, "is refused unless \(Key.mode.rawValue)=test")
      return nil
    }
    return file(.appleRootFile)
  }

  private mutating func appleAPI() -> AppleConfiguration.API? {
    let url = url(.appleAPIURL)
    let sandboxURL = self.url(.appleSandboxAPIURL)
    guard together(.appleIssuerID, [.appleKeyID, .appleKeyFile]),
      let issuerID = text(.appleIssuerID), let keyID = text(.appleKeyID),
      let key = file(.appleKeyFile), let url, let sandboxURL
    else { return nil }
    return AppleConfiguration.API(
      issuerID: issuerID, keyID: keyID, key: Secret(key), url: url, sandboxURL: sandboxURL)
  }

  mutating func google() -> GoogleConfiguration? {
    let apiURL = url(.googleAPIURL)
    let keysURL = url(.googleKeysURL)
    guard
      together(
        .googlePackage, [.googlePushAudience, .googlePushEmail, .googleServiceAccountFile]),
      let package = text(.googlePackage), let audience = text(.googlePushAudience),
      let email = text(.googlePushEmail), let account = file(.googleServiceAccountFile),
      let apiURL, let keysURL
    else { return nil }
    return GoogleConfiguration(
      package: package, pushAudience: audience, pushEmail: email,
      serviceAccount: Secret(account), apiURL: apiURL, keysURL: keysURL)
  }

  mutating func sandboxAccounts() -> Set<Identifier> {
    var accounts: Set<Identifier> = []
    for part in list(.sandboxAccounts) ?? [] {
      if let account = Identifier(part) {
        accounts.insert(account)
      } else {
        refuse(.sandboxAccounts, "\(quoted(part)) is no account id")
      }
    }
    return accounts
  }
}
