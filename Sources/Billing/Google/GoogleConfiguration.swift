package import Base
package import Configuration

/// What `coffer-billing` needs to know about Google Play; there is none where it is off.
package struct GoogleConfiguration: StoreConfiguration {
  package let package: String
  package let pushAudience: String
  package let pushEmail: String
  /// The service account's key file, JSON.
  package let serviceAccount: Secret
  package let apiURL: String
  package let keysURL: String

  package static let store = "google"
  package static let settings: [any AnySetting] = [
    Keys.package, Keys.pushAudience, Keys.pushEmail,
    Keys.serviceAccountFile, Keys.apiURL, Keys.keysURL,
  ]

  package init?(reading reader: inout SettingsReader) {
    let apiURL = reader.value(Keys.apiURL)
    let keysURL = reader.value(Keys.keysURL)
    guard
      reader.together(
        Keys.package,
        [
          Keys.pushAudience, Keys.pushEmail, Keys.serviceAccountFile,
        ]),
      let package = reader.value(Keys.package),
      let audience = reader.value(Keys.pushAudience),
      let email = reader.value(Keys.pushEmail),
      let account = reader.value(Keys.serviceAccountFile), let apiURL, let keysURL
    else { return nil }
    self.package = package
    pushAudience = audience
    pushEmail = email
    serviceAccount = Secret(account)
    self.apiURL = apiURL
    self.keysURL = keysURL
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(Keys.package)
  }
}
