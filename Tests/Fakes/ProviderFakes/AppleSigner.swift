package import Base
import Crypto
package import JSON
import JWS
package import TestCertificates

/// The key that signs everything from the fake App Store, and the certificates sent with it.
package struct AppleSigner: Sendable {
  /// Leaf, intermediate and root, each in DER.
  package let certificates: [[UInt8]]
  private let key: P256PrivateKey

  package init(_ chain: AppleTestChain) {
    certificates = [chain.leaf.der, chain.intermediate.der, chain.root.der]
    key = chain.leaf.key
  }

  /// Nil unless there are three certificates and a P-256 key. Whether they match is not checked.
  package init?(certificates: [[UInt8]], key: Secret) {
    guard certificates.count == 3, let key = P256PrivateKey(pem: key) else { return nil }
    self.certificates = certificates
    self.key = key
  }

  package var root: [UInt8] { certificates[2] }

  /// A compact JWS of the store, different at every call.
  package func sign(_ payload: JSONValue) -> String {
    let header: JSONValue = [
      "alg": "ES256", "x5c": .array(certificates.map { .string(Base64.standard.encode($0)) }),
    ]
    return CompactJWS.compact(header: header, payload: payload, sign: key.signature)
  }
}

extension AppleSigner {
  /// The content of a JWS without its signatures, which differ every time, including nested ones.
  package static func unsigned(_ text: String) -> String {
    guard let jws = try? JWSSegments(Array(text.utf8)) else { return text }
    let payload = String(decoding: jws.payload, as: UTF8.self)
    let parts = payload.split(separator: "\"", omittingEmptySubsequences: false).map { part in
      part.hasPrefix("eyJ") ? unsigned(String(part)) : String(part)
    }
    return String(decoding: jws.header, as: UTF8.self) + "." + parts.joined(separator: "\"")
  }
}
