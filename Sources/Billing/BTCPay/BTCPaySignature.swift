package import Base
import Crypto

/// The raw body of a webhook that our BTCPay server signed; only `BTCPaySecrets` makes one.
package struct BTCPayDelivery: Sendable {
  package let body: [UInt8]
  /// The value of its `BTCPay-Sig` header.
  package let signature: [UInt8]
  /// The digest of the secret that it was signed with.
  package let secret: String

  fileprivate init(body: [UInt8], signature: [UInt8], secret: String) {
    self.body = body
    self.signature = signature
    self.secret = secret
  }
}

extension BTCPayDelivery {
  /// A delivery that was verified on arrival and stored since.
  ///
  /// Warning: proves nothing about any other bytes.
  init(uncheckedBody body: [UInt8]) { self.init(body: body, signature: [], secret: "") }
}

/// The secrets of a webhook: the current one and, for deliveries that still wait, the one before.
package struct BTCPaySecrets: Sendable {
  private let secrets: [Secret]

  /// Nil if the list or a secret is empty, because anyone could sign with an empty secret.
  package init?(_ secrets: [Secret]) {
    guard !secrets.isEmpty, !secrets.contains(where: { $0.exposed.isEmpty }) else { return nil }
    self.secrets = secrets
  }

  /// The digests that identify the secrets, in the same order.
  var digests: [String] { secrets.map(\.digest) }

  /// Verifies that the server signed exactly these bytes. `headers` are the values of every `BTCPay-Sig` field.
  ///
  /// The signature has no time. That a delivery may come again is safe: it joins the same fact and asks for a
  /// read. https://docs.btcpayserver.org/Development/webhooks
  package func verify(
    headers: [[UInt8]], body: [UInt8]
  ) throws(BTCPayRefusal) -> BTCPayDelivery {
    guard let header = headers.first else { throw .missingHeader }
    guard headers.count == 1, let code = Self.code(in: header) else { throw .malformed }
    var match: String?
    for secret in secrets {
      // The key is the secret as text; the message is the body as received.
      if constantTimeEqual(code, HMACSHA256.code(key: secret, body)) {
        match = match ?? secret.digest
      }
    }
    guard let match else { throw .mismatch }
    return BTCPayDelivery(body: body, signature: header, secret: match)
  }

  /// `sha256=` and 64 hexadecimal digits.
  private static func code(in header: [UInt8]) -> [UInt8]? {
    let scheme = Array("sha256=".utf8)
    guard header.count == scheme.count + 2 * HMACSHA256.byteCount, header.starts(with: scheme)
    else { return nil }
    return Hex.decode(header.dropFirst(scheme.count))
  }
}

/// Why a delivery does not prove that our server sent it.
package enum BTCPayRefusal: String, Error, Hashable, Sendable, CaseIterable {
  case missingHeader = "missing-header"
  /// Not exactly one value, another scheme, or no code of 32 bytes.
  case malformed
  /// No secret gives this code.
  case mismatch
}
