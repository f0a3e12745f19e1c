import Base
import Crypto
import JSON
import ProviderFakes
import TestFiles

/// The keys of webhooks/google: the issuer's key with its key set, and the service account's with its file.
struct GoogleKeys {
  let issuer: RSAPrivateKey
  let service: RSAPrivateKey

  init(in folder: String) throws(RecordingError) {
    issuer = try Self.key("issuer", in: folder)
    service = try Self.key("service", in: folder)
  }

  var files: [String: [UInt8]] {
    [
      "keys/issuer.pem": issuer.pem.exposed, "keys/service.pem": service.pem.exposed,
      "keys/jwks.json": GoogleText.pretty(GoogleIssuer(keys: [issuer]).keySet),
      "keys/service-account.json": GoogleText.pretty(Self.account(service)),
    ]
  }

  /// The existing key, or a new one.
  private static func key(_ name: String, in folder: String) throws(RecordingError)
    -> RSAPrivateKey
  {
    guard let pem = Files.bytes("\(folder)/keys/\(name).pem") else {
      return RSAPrivateKey()
    }
    guard let key = RSAPrivateKey(pem: Secret(pem)) else {
      throw RecordingError(text: "keys/\(name).pem is no RSA key")
    }
    return key
  }

  /// A key file in the form of Google Cloud's console.
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
}
