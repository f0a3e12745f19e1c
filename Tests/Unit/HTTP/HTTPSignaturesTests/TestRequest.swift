import Base
import Crypto
import HTTPMessages
import HTTPSignatures

/// A request under test. Its signed parts can be spelled by hand, and altered after signing.
struct TestRequest {
  static let now = Instant(seconds: 1_767_600_000)
  static let host = "sync.example.com"
  static let policy = SignaturePolicy(authorities: [host])
  static let key = Ed25519PrivateKey(seed: Secret([UInt8](repeating: 7, count: 32)))!
  static let keyID = Base64.standard.encode(key.publicKey.bytes)

  var method = "PUT"
  var target = "/v1/files/7?x=1"
  var authority = host
  var scheme = "http"
  var headers: [(String, String)] = []
  var components = #""@method" "@authority" "@path" "@query""#
  var created = now.seconds - 5
  var expires = now.seconds + 200
  var nonce: String? = "0123456789abcdef"
  var keyID = TestRequest.keyID
  var algorithm: String? = "ed25519"
  var more = ""
  var label = "sig1"

  /// A request with a body, whose digest the signature covers.
  static func withBody(_ body: String = "hello") -> TestRequest {
    var request = TestRequest()
    request.headers = [
      ("Content-Length", String(body.utf8.count)),
      ("Content-Digest", ContentDigest.header(for: Array(body.utf8))),
    ]
    request.components += #" "content-digest""#
    return request
  }

  var parameters: String {
    var text = "(\(components));created=\(created);expires=\(expires)"
    if let nonce { text += ";nonce=\"\(nonce)\"" }
    text += ";keyid=\"\(keyID)\""
    if let algorithm { text += ";alg=\"\(algorithm)\"" }
    return text + more
  }

  var head: RequestHead { head(adding: []) }

  private func head(adding added: [(String, String)]) -> RequestHead {
    RequestHead(
      method: method, target: target, headers: Headers(headers + added), authority: authority,
      scheme: scheme)
  }

  /// The signature over what the parameters list; zeros if its base cannot be built.
  func signature(by key: Ed25519PrivateKey = TestRequest.key) -> [UInt8] {
    guard let entries = try? StructuredFieldParser.dictionary(Array("s=\(parameters)".utf8)),
      case .innerList(let list)? = entries.first?.member,
      let base = try? SignatureBase(covering: list, of: head)
    else { return [UInt8](repeating: 0, count: 64) }
    return key.signature(for: base.bytes)
  }

  func signed(by key: Ed25519PrivateKey = TestRequest.key) -> RequestHead {
    head(adding: [
      ("Signature-Input", "\(label)=\(parameters)"),
      ("Signature", "\(label)=:\(Base64.standard.encode(signature(by: key))):"),
    ])
  }
}

/// The refusal of a request; nil if it is accepted.
func refusal(
  _ head: RequestHead, policy: SignaturePolicy = TestRequest.policy,
  now: Instant = TestRequest.now
) -> SignatureRefusal? {
  do throws(SignatureRefusal) {
    _ = try verify(head, policy: policy, now: now)
    return nil
  } catch { return error }
}
