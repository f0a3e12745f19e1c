import Base
import Crypto
import JSON
import ProviderFakes

/// The stories of webhooks/google, signed with the key that is kept beside them.
enum GoogleRecording {
  static func make(in folder: String) throws(RecordingError) -> Recording {
    let issuer = try key("issuer", in: folder)
    let service = try key("service", in: folder)
    var files: [String: [UInt8]] = [
      "keys/issuer.pem": issuer.pem.exposed, "keys/service.pem": service.pem.exposed,
      "keys/jwks.json": GoogleText.pretty(GoogleIssuer(keys: [issuer]).keySet),
      "keys/service-account.json": GoogleText.pretty(account(service)), "catalogue.json": catalogue,
    ]
    for story in GoogleStory.all {
      let telling = story.tell(key: issuer, serviceKey: service.publicKey)
      for (name, bytes) in telling.files { files["\(story.name)/\(name)"] = bytes }
      files["\(story.name)/story.json"] = telling.storyFile(title: story.title)
    }
    return Recording(folder: folder, files: files)
  }

  /// The key that is there; a new one where none is.
  private static func key(_ name: String, in folder: String) throws(RecordingError)
    -> RSAPrivateKey
  {
    guard let pem = Recording.bytes(of: "\(folder)/keys/\(name).pem") else {
      return RSAPrivateKey()
    }
    guard let key = RSAPrivateKey(pem: Secret(pem)) else {
      throw RecordingError(text: "keys/\(name).pem is no RSA key")
    }
    return key
  }

  /// A key file as Google Cloud's console gives it out.
  private static func account(_ key: RSAPrivateKey) -> JSONValue {
    let email = FakePlayStore.Settings().serviceEmail
    return [
      "type": "service_account", "project_id": "coffer-app",
      "private_key_id": .string(GoogleIssuer.keyID(key.publicKey)),
      "private_key": .string(String(decoding: key.pem.exposed, as: UTF8.self)),
      "client_email": .string(email), "client_id": "107264539082136459871",
      "auth_uri": "https://accounts.google.com/o/oauth2/auth",
      "token_uri": "https://oauth2.googleapis.com/token",
      "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
      "client_x509_cert_url":
        "https://www.googleapis.com/robot/v1/metadata/x509/billing%40coffer-app.iam.gserviceaccount.com",
      "universe_domain": "googleapis.com",
    ]
  }

  /// The plans that the stories are about, in the format of `COFFER_PLANS`.
  private static var catalogue: [UInt8] {
    func google(_ plan: GooglePlan, _ interval: String) -> JSONValue {
      [
        "provider": "google", "product": .string(plan.productID),
        "price": .string("\(plan.productID):\(plan.basePlanID)"),
        "amount": .integer(plan.price.cents), "currency": "usd", "interval": .string(interval),
      ]
    }
    func stripe(_ price: StripePrice) -> JSONValue {
      [
        "provider": "stripe", "product": .string(price.product), "price": .string(price.id),
        "amount": .integer(price.amount), "currency": "usd",
        "interval": .string(price.interval == .year ? "year" : "month"),
      ]
    }
    func plan(
      _ id: String, _ title: String, _ products: [JSONValue], adds: Bool = false
    ) -> JSONValue {
      .object(
        [
          .init("id", .string(id)), .init("title", .string(title)),
          .init("bytes", .integer(GoogleTelling.caps[id] ?? 0)),
        ] + (adds ? [.init("adds", true)] : []) + [.init("products", .array(products))])
    }
    let value: JSONValue = [
      "version": "fixtures-google-1", "metadata_fee_bytes": 1000,
      "free": [
        "id": "free", "title": "Free", "bytes": .integer(GoogleTelling.caps["free"] ?? 0),
      ],
      "plans": [
        plan(
          "premium", "Premium",
          [
            google(.premiumMonthly, "month"), google(.premiumYearly, "year"),
            google(.premiumPrepaid, "month"), stripe(.premiumMonthly), stripe(.premiumYearly),
          ]),
        plan("plus", "Plus", [google(.plusMonthly, "month"), stripe(.plusMonthly)]),
        plan(
          "extra", "Extra", [google(.extraMonthly, "month"), google(.extraYearly, "year")],
          adds: true),
      ],
      "ignored": [
        ["provider": "google", "product": .string(GooglePlan.stickersMonthly.productID)]
      ],
      "fallback": nil,
    ]
    return GoogleText.pretty(value)
  }
}
