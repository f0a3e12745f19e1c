package import Base
import Crypto
import HTTPClient
import JSON
import JWS
import ProviderAPI

/// The service account that may read purchases, and its access tokens.
///
/// Any thread may use it: one requests a token while the others wait for it.
package final class ServiceAccount: Sendable {
  private static let scope = "https://www.googleapis.com/auth/androidpublisher"
  /// A token is not used in its last minutes, because requests take time and clocks differ.
  private static let reserve = Instant.Span.seconds(225)
  private static let lifetime = Instant.Span.hours(1)

  private let email: String
  private let keyID: String
  private let key: RSAPrivateKey
  private let tokenURL: String
  private let current = Locked<Token?>(nil)

  private struct Token: Sendable {
    let text: Secret
    let until: Instant
  }

  /// Nil if this is no key file of Google Cloud, or if its token address is neither https nor on this machine.
  package init?(keyFile: Secret) {
    guard let json = try? JSON.parse(keyFile.exposed), json["type"].string == "service_account",
      let email = json["client_email"].string, let keyID = json["private_key_id"].string,
      let pem = json["private_key"].string, let key = RSAPrivateKey(pem: Secret(pem)),
      let tokenURL = json["token_uri"].string, WebAddress(tokenURL)?.isPrivate == true
    else { return nil }
    self.email = email
    self.keyID = keyID
    self.key = key
    self.tokenURL = tokenURL
  }

  /// Blocks while a token is requested.
  func token(
    at now: Instant, through transport: any ProviderTransport
  ) throws(APIFailure) -> Secret {
    try current.withLock { current throws(APIFailure) -> Secret in
      if let current, now < current.until { return current.text }
      let token = try request(at: now, through: transport)
      current = token
      return token.text
    }
  }

  /// Makes the next request ask for a new token, unless another thread already did.
  func forget(_ text: Secret) {
    current.withLock { current in
      if current?.text.exposed == text.exposed { current = nil }
    }
  }

  /// The JWT bearer grant (RFC 7523).
  private func request(
    at now: Instant, through transport: any ProviderTransport
  ) throws(APIFailure) -> Token {
    let assertion = CompactJWS.compact(
      header: ["alg": "RS256", "typ": "JWT", "kid": .string(keyID)],
      payload: [
        "iss": .string(email), "scope": .string(Self.scope), "aud": .string(tokenURL),
        "iat": .integer(now.seconds), "exp": .integer((now + Self.lifetime).seconds),
      ] as JSONValue, sign: key.signature)
    let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    let reply = try transport.send(
      APIRequest(
        "POST", tokenURL, headers: [("Content-Type", "application/x-www-form-urlencoded")],
        body: Array("grant_type=\(grant)&assertion=\(assertion)".utf8)))
    // Any answer is about the account or the address, never about what a token is used for.
    if let failure = reply.transientFailure { throw failure }
    guard (200..<300).contains(reply.status) else {
      throw .misconfigured(
        reply.status == 400
          ? "Google refuses the service account's assertion"
          : "Google's token endpoint answers \(reply.status)")
    }
    guard let json = try? JSON.parseForeign(reply.body), let text = json["access_token"].string,
      let seconds = json["expires_in"].integer, seconds > 0
    else { throw .malformed("the token endpoint answers without a token") }
    let lifetime = Instant.Span.seconds(min(seconds, 86_400))
    return Token(text: Secret(text), until: now + lifetime - Self.reserve)
  }
}
