package import Base

/// What `coffer-billing` needs to know about the App Store; there is none where it is off.
package struct AppleConfiguration: StoreConfiguration {
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

  package static let store = "apple"
  package static let settings: [any AnySetting] = [
    AppleSettings.bundleID, AppleSettings.appID, AppleSettings.issuerID, AppleSettings.keyID,
    AppleSettings.keyFile, AppleSettings.apiURL, AppleSettings.sandboxAPIURL,
    AppleSettings.rootFile,
  ]

  package init?(reading reader: inout SettingsReader) {
    appID = reader.value(AppleSettings.appID)
    root = Self.root(reading: &reader)
    api = API(reading: &reader)
    guard reader.has(AppleSettings.bundleID) else {
      let others: [any AnySetting] = [
        AppleSettings.appID, AppleSettings.rootFile, AppleSettings.issuerID,
      ]
      for setting in others where reader.has(setting) {
        reader.refuse(setting, "is set, but \(AppleSettings.bundleID.name) is not")
      }
      return nil
    }
    guard let bundleID = reader.value(AppleSettings.bundleID) else { return nil }
    self.bundleID = bundleID
  }

  private static func root(reading reader: inout SettingsReader) -> [UInt8]? {
    guard reader.has(AppleSettings.rootFile) else { return nil }
    guard reader.isTest else {
      reader.refuse(
        AppleSettings.rootFile, "is refused unless \(SharedSettings.mode.name)=test")
      return nil
    }
    return reader.value(AppleSettings.rootFile)
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(AppleSettings.issuerID)
  }
}

extension AppleConfiguration.API {
  fileprivate init?(reading reader: inout SettingsReader) {
    let url = reader.value(AppleSettings.apiURL)
    let sandboxURL = reader.value(AppleSettings.sandboxAPIURL)
    guard reader.together(AppleSettings.issuerID, [AppleSettings.keyID, AppleSettings.keyFile]),
      let issuerID = reader.value(AppleSettings.issuerID),
      let keyID = reader.value(AppleSettings.keyID),
      let key = reader.value(AppleSettings.keyFile), let url, let sandboxURL
    else { return nil }
    self.init(
      issuerID: issuerID, keyID: keyID, key: Secret(key), url: url, sandboxURL: sandboxURL)
  }
}
