package import Configuration

extension GoogleConfiguration {
  /// Google Play's settings, one row each.
  package enum Keys {
    package static let packages = Setting<[String]>(
      "COFFER_GOOGLE_PACKAGE", for: [.billing, .command], .meaning("Google Play is off"),
      text:
        "The app's package name, or a comma list for up to 16 apps. Notifications for other apps "
        + "are stored and ignored.",
      example: "com.example.coffer",
      parser: .list { (text, _) throws(ParseFailure) in
        guard isPrintable(text), text.utf8.count <= 155, !text.contains("/") else {
          throw ParseFailure("\(quoted(text)) is no package name")
        }
        return text
      })

    package static let pushAudience = Setting<String>(
      "COFFER_GOOGLE_PUSH_AUDIENCE", for: [.billing, .command],
      .meaning("required with COFFER_GOOGLE_PACKAGE"),
      text: "Audience of the push subscription's tokens, exactly as configured in Pub/Sub.",
      example: "https://billing.example.com/webhooks/google", parser: .text)

    package static let pushEmail = Setting<String>(
      "COFFER_GOOGLE_PUSH_EMAIL", for: [.billing, .command],
      .meaning("required with COFFER_GOOGLE_PACKAGE"),
      text: "E-mail address of the service account that signs the pushes.",
      example: "push@example.iam.gserviceaccount.com", parser: .text)

    package static let serviceAccountFile = Setting<[UInt8]>(
      "COFFER_GOOGLE_SERVICE_ACCOUNT_FILE", for: [.billing, .command],
      .meaning("required with COFFER_GOOGLE_PACKAGE"),
      text:
        "Path of the JSON key of the service account that may read purchases. Tokens come from "
        + "its token_uri.",
      example: "/etc/coffer/play.json", parser: .file, namesSecret: true)

    package static let apiURL = Setting<String>(
      "COFFER_GOOGLE_API_URL", for: [.billing, .command],
      .value("https://androidpublisher.googleapis.com"),
      text: "URL of the Google Play Developer API. Plain http is allowed only to this machine.",
      example: "https://androidpublisher.googleapis.com", parser: .url)

    package static let keysURL = Setting<String>(
      "COFFER_GOOGLE_KEYS_URL", for: [.billing, .command],
      .value("https://www.googleapis.com/oauth2/v3/certs"),
      text:
        "URL of the keys that push tokens are signed with. Plain http is allowed only to this "
        + "machine.",
      example: "https://www.googleapis.com/oauth2/v3/certs", parser: .url)
  }
}
