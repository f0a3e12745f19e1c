package import Base

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
    GoogleSettings.package, GoogleSettings.pushAudience, GoogleSettings.pushEmail,
    GoogleSettings.serviceAccountFile, GoogleSettings.apiURL, GoogleSettings.keysURL,
  ]

  package init?(reading reader: inout SettingsReader) {
    let apiURL = reader.value(GoogleSettings.apiURL)
    let keysURL = reader.value(GoogleSettings.keysURL)
    guard
      reader.together(
        GoogleSettings.package,
        [
          GoogleSettings.pushAudience, GoogleSettings.pushEmail, GoogleSettings.serviceAccountFile,
        ]),
      let package = reader.value(GoogleSettings.package),
      let audience = reader.value(GoogleSettings.pushAudience),
      let email = reader.value(GoogleSettings.pushEmail),
      let account = reader.value(GoogleSettings.serviceAccountFile), let apiURL, let keysURL
    else { return nil }
    self.package = package
    pushAudience = audience
    pushEmail = email
    serviceAccount = Secret(account)
    self.apiURL = apiURL
    self.keysURL = keysURL
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(GoogleSettings.package)
  }
}
