package import Base

/// The app's server that is notified of changes, and the secrets that prove who notifies it.
package struct NoticeReceiver: Sendable {
  package let url: String
  /// The first is the newest; a notice is signed with each.
  package let secrets: [Secret]

  package init(url: String, secrets: [Secret]) {
    self.url = url
    self.secrets = secrets
  }
}

extension BillingSettings {
  package static let noticeURL = Setting<String>(
    "COFFER_NOTICE_URL", for: [.billing], .meaning("no notices are sent"),
    text:
      "URL of your app's server, which gets a signed POST (Standard Webhooks) with the content "
      + "of GET /v1/subscription whenever that changes. Plain http is allowed only to this "
      + "machine.",
    example: "https://app.example.com/coffer", parser: .url)

  package static let noticeSecrets = Setting<[Secret]>(
    "COFFER_NOTICE_SECRETS", for: [.billing], .meaning("needed with COFFER_NOTICE_URL"),
    text:
      "Comma list of the signing secrets of these notices: whsec_ and 24 to 64 bytes in base64. "
      + "Each secret signs every notice, so that one can be rotated. Make one with: echo "
      + "whsec_$(openssl rand -base64 32)",
    example: "whsec_new, whsec_old",
    parser: .list { (text, number) throws(ParseFailure) in
      guard text.hasPrefix("whsec_"), let bytes = Base64.standard.decode(String(text.dropFirst(6))),
        (24...64).contains(bytes.count)
      else { throw ParseFailure("secret \(number) is not whsec_ and 24 to 64 bytes in base64") }
      return Secret(bytes)
    }, isSecret: { _ in true })
}
