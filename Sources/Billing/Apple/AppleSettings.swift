package import Configuration

extension AppleConfiguration {
  /// The App Store's settings, one row each.
  package enum Keys {
    package static let bundleIDs = Setting<[String]>(
      "COFFER_APPLE_BUNDLE_ID", for: [.billing, .command], .meaning("the App Store is off"),
      text:
        "The app's bundle id, or a comma list of those of several apps of one team, 16 at most; "
        + "notifications for any other are refused.",
      example: "com.example.coffer",
      parser: .list { (text, _) throws(ParseFailure) in
        guard isPrintable(text), text.utf8.count <= 155 else {
          throw ParseFailure("\(quoted(text)) is no bundle id")
        }
        return text
      })

    package static let appIDs = Setting<[Int64]>(
      "COFFER_APPLE_APP_ID", for: [.billing, .command],
      .meaning("only sandbox notifications are taken"),
      text:
        "The app's Apple ID, a number, or a comma list in the order of the bundle ids; production "
        + "notifications must name theirs.",
      example: "1234567890",
      parser: .list { (text, _) throws(ParseFailure) in
        guard let number = Int64(text), number > 0 else {
          throw ParseFailure("\(quoted(text)) is no number")
        }
        return number
      })

    package static let issuerID = Setting<String>(
      "COFFER_APPLE_ISSUER_ID", for: [.billing, .command],
      .meaning("the App Store is never asked"),
      text: "Issuer id of the App Store Server API's keys (App Store Connect, Integrations).",
      example: "57246542-96fe-1a63-e053-0824d011072a", parser: .text)

    package static let keyID = Setting<String>(
      "COFFER_APPLE_KEY_ID", for: [.billing, .command], .meaning("the App Store is never asked"),
      text: "Id of the In-App Purchase key.", example: "2X9R4HXF34", parser: .text)

    package static let keyFile = Setting<[UInt8]>(
      "COFFER_APPLE_KEY_FILE", for: [.billing, .command], .meaning("the App Store is never asked"),
      text: "Path of that key, the .p8 file as downloaded.",
      example: "/etc/coffer/SubscriptionKey_2X9R4HXF34.p8", parser: .file, namesSecret: true)

    package static let apiURL = Setting<String>(
      "COFFER_APPLE_API_URL", for: [.billing, .command], .value("https://api.storekit.apple.com"),
      text: "Where the App Store Server API answers. Plain http only to this machine.",
      example: "https://api.storekit.apple.com", parser: .url)

    package static let sandboxAPIURL = Setting<String>(
      "COFFER_APPLE_SANDBOX_API_URL", for: [.billing, .command],
      .value("https://api.storekit-sandbox.apple.com"),
      text: "Where its sandbox answers.",
      example: "https://api.storekit-sandbox.apple.com", parser: .url)

    package static let rootFile = Setting<[UInt8]>(
      "COFFER_APPLE_ROOT_FILE", for: [.billing, .command],
      .meaning("Apple Root CA - G3, which is built in"),
      text: "Path of the root certificate (DER) that signatures must lead to; refused unless "
        + "COFFER_MODE=test.",
      example: "/tmp/coffer-root.der", parser: .file)
  }
}
