package import Base
package import Configuration

/// The programs' configuration of Google Play; there is none if Google Play is off.
package struct GoogleConfiguration: StoreConfiguration {
  /// The package names of our apps, the oldest first.
  package let packages: [String]
  package let pushAudience: String
  package let pushEmail: String
  /// The service account's key file, JSON.
  package let serviceAccount: Secret
  package let apiURL: String
  package let keysURL: String

  package static let store = "google"
  /// A read of a purchase may ask for each app in turn.
  private static let packageCountMax = 16
  package static let settings: [any AnySetting] = [
    Keys.packages, Keys.pushAudience, Keys.pushEmail, Keys.serviceAccountFile, Keys.apiURL,
    Keys.keysURL,
  ]

  package init?(reading reader: inout SettingsReader) {
    let apiURL = reader.value(Keys.apiURL)
    let keysURL = reader.value(Keys.keysURL)
    guard
      reader.together(
        Keys.packages, [Keys.pushAudience, Keys.pushEmail, Keys.serviceAccountFile]),
      let packages = reader.value(Keys.packages),
      let audience = reader.value(Keys.pushAudience),
      let email = reader.value(Keys.pushEmail),
      let account = reader.value(Keys.serviceAccountFile), let apiURL, let keysURL
    else { return nil }
    guard packages.count <= Self.packageCountMax else {
      reader.refuse(Keys.packages, "names more than \(Self.packageCountMax) apps")
      return nil
    }
    self.packages = packages
    pushAudience = audience
    pushEmail = email
    serviceAccount = Secret(account)
    self.apiURL = apiURL
    self.keysURL = keysURL
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(Keys.packages)
  }
}
