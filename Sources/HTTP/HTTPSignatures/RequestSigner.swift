package import Base
package import Crypto
import HTTPMessages

/// Signs requests as this server requires, for the CLI, tests and measurements.
package struct RequestSigner: Sendable {
  private let key: Ed25519PrivateKey
  private let authority: String
  private let scheme: String

  /// `authority` is the value that the Host header will have.
  package init(key: Ed25519PrivateKey, authority: String, scheme: String = "http") {
    self.key = key
    self.authority = authority
    self.scheme = scheme
  }

  /// The headers to add to a request, including Content-Digest if the body is not empty.
  ///
  /// The nonce has 6 to 48 bytes and is sent as base64url text. It may be nil only for safe methods. `fields` are the
  /// other headers of the request that the signature covers.
  package func headers(
    method: String, target: String, body: [UInt8]?, created: Instant, nonce: [UInt8]?,
    covering fields: [(String, String)] = []
  ) -> [(String, String)] {
    var added: [(String, String)] = []
    var components = ["@method", "@authority", "@path", "@query"]
    if let body, !body.isEmpty {
      added.append(("Content-Digest", ContentDigest.header(for: body)))
      components.append("content-digest")
    }
    components += fields.map { $0.0.lowercased() }
    var parameters: [StructuredField.Parameter] = [
      .init("created", .integer(created.seconds)),
      .init("expires", .integer(created.seconds + SignaturePolicy.lifetimeSecondsMax)),
      .init("keyid", .string(Base64.standard.encode(key.publicKey.bytes))),
      .init("alg", .string("ed25519")),
    ]
    if let nonce { parameters.append(.init("nonce", .string(Base64.url.encode(nonce)))) }
    let input = StructuredField.InnerList(
      components.map { StructuredField.Item(.string($0)) }, parameters)
    let head = RequestHead(
      method: method, target: target, headers: Headers(added + fields), authority: authority,
      scheme: scheme)
    guard let base = try? SignatureBase(covering: input, of: head) else {
      preconditionFailure("a request to sign is not printable ASCII")
    }
    let signature = StructuredField.Item(.bytes(key.signature(for: base.bytes)))
    for (name, member) in [
      ("Signature-Input", StructuredField.Member.innerList(input)),
      ("Signature", StructuredField.Member.item(signature)),
    ] {
      let value = StructuredField.serialize(dictionary: [.init("coffer", member)])
      added.append((name, String(decoding: value, as: UTF8.self)))
    }
    return added
  }
}
