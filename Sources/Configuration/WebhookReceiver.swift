package import Base

/// A server that gets webhooks of ours, and the secrets that prove who sends them, by Standard Webhooks 1.0.0
/// (https://www.standardwebhooks.com).
package struct WebhookReceiver: Sendable {
  package let url: String
  /// The first is the newest; a webhook is signed with each.
  package let secrets: [Secret]

  package init(url: String, secrets: [Secret]) {
    self.url = url
    self.secrets = secrets
  }
}

extension SettingsReader {
  /// A receiver, from its two settings; nil if there is none.
  mutating func receiver(_ url: Setting<String>, _ secrets: Setting<[Secret]>) -> WebhookReceiver? {
    let isOn = together(url, [secrets])
    let (url, secrets) = (value(url), value(secrets))
    return isOn ? WebhookReceiver(url: url ?? "", secrets: secrets ?? []) : nil
  }
}

extension Parser where Value == [Secret] {
  /// The signing secrets of webhooks, as Standard Webhooks writes them.
  fileprivate static var webhookSecrets: Parser {
    .list { (text, number) throws(ParseFailure) in
      guard text.hasPrefix("whsec_"), let bytes = Base64.standard.decode(String(text.dropFirst(6))),
        (24...64).contains(bytes.count)
      else { throw ParseFailure("secret \(number) is not whsec_ and 24 to 64 bytes in base64") }
      return Secret(bytes)
    }
  }
}

extension BillingSettings {
  package static let noticeURL = Setting<String>(
    "COFFER_NOTICE_URL", for: [.billing], .meaning("no notices are sent"),
    text: "URL of your app's server, which gets a signed POST (Standard Webhooks) with the content "
      + "of GET /v1/subscription whenever that changes. Plain http is allowed only to this "
      + "machine.",
    example: "https://app.example.com/coffer", parser: .url)

  package static let noticeSecrets = Setting<[Secret]>(
    "COFFER_NOTICE_SECRETS", for: [.billing], .meaning("needed with COFFER_NOTICE_URL"),
    text:
      "Comma list of the signing secrets of these notices: whsec_ and 24 to 64 bytes in base64. "
      + "Each secret signs every notice, so that one can be rotated. Make one with: echo "
      + "whsec_$(openssl rand -base64 32)",
    example: "whsec_new, whsec_old", parser: .webhookSecrets, isSecret: { _ in true })
}

extension SyncSettings {
  package static let pushURL = Setting<String>(
    "COFFER_PUSH_URL", for: [.sync], .meaning("devices that sleep are not woken"),
    text:
      "URL of your push gateway, which gets a signed POST (Standard Webhooks) with a device's push "
      + "id and nothing else when the device's account has changed. Plain http is allowed only to "
      + "this machine. See docs/wake-ups.md.",
    example: "https://push.example.com/coffer", parser: .url)

  package static let pushSecrets = Setting<[Secret]>(
    "COFFER_PUSH_SECRETS", for: [.sync], .meaning("needed with COFFER_PUSH_URL"),
    text: "Comma list of the signing secrets of these POSTs, in the form of COFFER_NOTICE_SECRETS.",
    example: "whsec_new, whsec_old", parser: .webhookSecrets, isSecret: { _ in true })

  package static let pushPause = Setting<Int64>(
    "COFFER_PUSH_PAUSE_SECONDS", for: [.sync], .value("30"),
    text: "The least number of seconds between two wake-ups of one device.", example: "30",
    parser: .number(in: 1...86_400))
}
