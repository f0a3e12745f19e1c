import Base
import JSON

/// One notification with its content; it is signed when it is sent.
struct AppleNotice: Sendable {
  /// `notificationUUID`.
  let id: String
  let type: String
  let subtype: String?
  let signed: Instant
  /// The subscription that it is about, if any.
  let original: String?
  let content: Content

  enum Content: Sendable {
    /// About a transaction. For a subscription, a renewal and a status are included.
    case data(transaction: JSONValue, renewal: JSONValue? = nil, status: Int64? = nil)
    /// About the app only.
    case app
    /// An object other than `data`, with its name.
    case other(String, JSONValue)
    /// With a signed app transaction.
    case consent(JSONValue)
  }

  /// `DID_RENEW`, or with a subtype `DID_RENEW.BILLING_RECOVERY`.
  var name: String { subtype.map { "\(type).\($0)" } ?? type }

  /// The JWS of an attempt. Its inner objects were signed at the time of the event.
  func signedPayload(
    _ settings: FakeAppStore.Settings, _ signer: AppleSigner, at moment: Instant
  ) -> String {
    let (name, object) = part(settings, signer)
    return signer.sign(
      .apple([
        ("notificationType", .string(type)), ("subtype", subtype.map { .string($0) }),
        ("notificationUUID", .string(id)), (name, object), ("version", "2.0"),
        ("signedDate", .integer(moment.milliseconds)),
      ]))
  }

  private func part(
    _ settings: FakeAppStore.Settings, _ signer: AppleSigner
  ) -> (name: String, object: JSONValue) {
    let app: [(String, JSONValue?)] = [
      ("appAppleId", settings.announcedAppID), ("bundleId", .string(settings.bundleID)),
    ]
    let environment = JSONValue.string(settings.environment.rawValue)
    let client: [(String, JSONValue?)] =
      app + [
        ("bundleVersion", .string(settings.bundleVersion)), ("environment", environment),
      ]
    switch content {
    case .app: return ("data", .apple(client))
    case .data(let transaction, let renewal, let status):
      return (
        "data",
        .apple(
          client + [
            ("signedTransactionInfo", .string(signer.sign(transaction))),
            ("signedRenewalInfo", renewal.map { .string(signer.sign($0)) }),
            ("status", status.map { .integer($0) }),
          ])
      )
    case .other(let name, let object): return (name, object)
    case .consent(let transaction):
      return (
        "appData",
        .apple(
          app + [
            ("environment", environment),
            ("signedAppTransactionInfo", .string(signer.sign(transaction))),
          ])
      )
    }
  }
}

extension JSONValue {
  /// An object with its members in the given order. Nil members are left out, as the store does.
  static func apple(_ members: [(String, JSONValue?)]) -> JSONValue {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  static func apple(_ moment: Instant) -> JSONValue { .integer(moment.milliseconds) }
}
