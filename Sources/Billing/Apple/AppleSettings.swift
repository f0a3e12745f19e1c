package import Configuration

extension AppleConfiguration {
  /// The App Store's settings, one row each.
  package enum Keys {
    package static let bundleIDs = Setting<[String]>(
      "COFFER_APPLE_BUNDLE_ID", for: [.billing, .command], .meaning("the App Store is off"),
      text:
        "The app's bundle id, or a comma list for up to 16 apps of one team. Notifications for "
        + "other apps are refused.",
      example: "com.example.coffer",
      parser: .list { (text, _) throws(ParseFailure) in
        guard isPrintable(text), text.utf8.count <= 155 else {
          throw ParseFailure("\(quoted(text)) is no bundle id")
        }
        return text
      })

    package static let appIDs = Setting<[Int64]>(
      "COFFER_APPLE_APP_ID", for: [.billing, .command],
      .meaning("only sandbox notifications are accepted"),
      text:
        "The app's Apple ID (a number), or a comma list in the order of the bundle ids. "
        + "Production notifications must have it.",
      example: "1234567890",
      parser: .list { (text, _) throws(ParseFailure) in
        guard let number = Int64(text), number > 0 else {
          throw ParseFailure("\(quoted(text)) is no number")
        }
        return number
      })

    package static let issuerID = Setting<String>(
      "COFFER_APPLE_ISSUER_ID", for: [.billing, .command],
      .meaning("the App Store is not queried"),
      text: "Issuer id of the keys of the App Store Server API (App Store Connect, Integrations).",
      example: "57246542-96fe-1a63-e053-0824d011072a", parser: .text)

    package static let keyID = Setting<String>(
      "COFFER_APPLE_KEY_ID", for: [.billing, .command], .meaning("the App Store is not queried"),
      text: "Id of the In-App Purchase key.", example: "2X9R4HXF34", parser: .text)

    package static let keyFile = Setting<[UInt8]>(
      "COFFER_APPLE_KEY_FILE", for: [.billing, .command], .meaning("the App Store is not queried"),
      text: "Path of that key: the .p8 file as downloaded.",
      example: "/etc/coffer/SubscriptionKey_2X9R4HXF34.p8", parser: .file, namesSecret: true)

    package static let apiURL = Setting<String>(
      "COFFER_APPLE_API_URL", for: [.billing, .command], .value("https://api.storekit.apple.com"),
      text: "URL of the App Store Server API. Plain http is allowed only to this machine.",
      example: "https://api.storekit.apple.com", parser: .url)

    package static let sandboxAPIURL = Setting<String>(
      "COFFER_APPLE_SANDBOX_API_URL", for: [.billing, .command],
      .value("https://api.storekit-sandbox.apple.com"),
      text: "URL of its sandbox.",
      example: "https://api.storekit-sandbox.apple.com", parser: .url)

    package static let rootFile = Setting<[UInt8]>(
      "COFFER_APPLE_ROOT_FILE", for: [.billing, .command],
      .meaning("Apple Root CA - G3, which is built in"),
      text:
        "Path of the root certificate (DER) for the signatures. Allowed only with "
        + "COFFER_MODE=test.",
      example: "/tmp/coffer-root.der", parser: .file)
  }
}
