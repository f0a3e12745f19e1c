package import Base
package import Configuration

/// The programs' configuration of the App Store; there is none if the App Store is off.
package struct AppleConfiguration: StoreConfiguration {
  /// Our apps, the oldest first.
  package let apps: [AppleApp]
  /// The root that signatures must lead to, in DER. Nil for Apple's own root, which is built in.
  package let root: [UInt8]?
  /// Nil if the App Store is never asked.
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
  /// A read of a purchase may ask for each app in turn.
  private static let appCountMax = 16
  package static let settings: [any AnySetting] = [
    Keys.bundleIDs, Keys.appIDs, Keys.issuerID, Keys.keyID, Keys.keyFile, Keys.apiURL,
    Keys.sandboxAPIURL, Keys.rootFile,
  ]

  package init?(reading reader: inout SettingsReader) {
    let appIDs = reader.value(Keys.appIDs)
    root = Self.root(reading: &reader)
    api = API(reading: &reader)
    guard reader.has(Keys.bundleIDs) else {
      let others: [any AnySetting] = [Keys.appIDs, Keys.rootFile, Keys.issuerID]
      for setting in others where reader.has(setting) {
        reader.refuse(setting, "is set, but \(Keys.bundleIDs.name) is not")
      }
      return nil
    }
    guard let bundleIDs = reader.value(Keys.bundleIDs) else { return nil }
    guard bundleIDs.count <= Self.appCountMax else {
      reader.refuse(Keys.bundleIDs, "names more than \(Self.appCountMax) apps")
      return nil
    }
    guard appIDs.map({ $0.count == bundleIDs.count }) ?? true else {
      reader.refuse(Keys.appIDs, "must name as many apps as \(Keys.bundleIDs.name)")
      return nil
    }
    apps = bundleIDs.enumerated().map { index, id in
      AppleApp(bundleID: id, appAppleID: appIDs?[index])
    }
  }

  private static func root(reading reader: inout SettingsReader) -> [UInt8]? {
    guard reader.has(Keys.rootFile) else { return nil }
    guard reader.isTest else {
      reader.refuse(Keys.rootFile, "is refused unless \(SharedSettings.mode.name)=test")
      return nil
    }
    return reader.value(Keys.rootFile)
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(Keys.issuerID)
  }
}

extension AppleConfiguration.API {
  fileprivate init?(reading reader: inout SettingsReader) {
    let url = reader.value(AppleConfiguration.Keys.apiURL)
    let sandboxURL = reader.value(AppleConfiguration.Keys.sandboxAPIURL)
    guard
      reader.together(
        AppleConfiguration.Keys.issuerID,
        [AppleConfiguration.Keys.keyID, AppleConfiguration.Keys.keyFile]),
      let issuerID = reader.value(AppleConfiguration.Keys.issuerID),
      let keyID = reader.value(AppleConfiguration.Keys.keyID),
      let key = reader.value(AppleConfiguration.Keys.keyFile), let url, let sandboxURL
    else { return nil }
    self.init(
      issuerID: issuerID, keyID: keyID, key: Secret(key), url: url, sandboxURL: sandboxURL)
  }
}
