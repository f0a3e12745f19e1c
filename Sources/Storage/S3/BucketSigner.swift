package import Base
internal import Crypto

/// AWS Signature Version 4, in the form that uses headers.
///
/// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
package struct BucketSigner: Sendable {
  private let keys: BucketKeys
  private let region: String

  package init(_ keys: BucketKeys, region: String) {
    self.keys = keys
    self.region = region
  }

  /// The digest of a request without a body.
  package static let emptyDigest = SHA256.hash([])

  /// The headers to send: those given, and the ones that sign them all.
  ///
  /// `path` is percent-encoded already, the parts of `query` are not. `digest` is the body's SHA-256.
  package func signed(
    _ method: String, host: String, path: String, query: [(String, String)],
    headers: [(String, String)], digest: [UInt8], at now: Instant
  ) -> [(String, String)] {
    let time = String(now.description.prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
    let day = String(time.prefix(8))
    var sent = headers
    sent.append(("x-amz-content-sha256", Hex.encode(digest)))
    sent.append(("x-amz-date", time))
    if let token = keys.token {
      sent.append(("x-amz-security-token", String(decoding: token.exposed, as: UTF8.self)))
    }
    let all = (sent + [("host", host)]).map { ($0.0.lowercased(), $0.1) }.sorted { $0.0 < $1.0 }
    let names = all.map(\.0).joined(separator: ";")
    let request = [
      method, path, Self.text(of: query), all.map { "\($0.0):\($0.1)\n" }.joined(), names,
      Hex.encode(digest),
    ].joined(separator: "\n")
    let scope = "\(day)/\(region)/s3/aws4_request"
    let text = [
      "AWS4-HMAC-SHA256", time, scope, Hex.encode(SHA256.hash(Array(request.utf8))),
    ].joined(separator: "\n")
    var key = Secret(Array("AWS4".utf8) + keys.secret.exposed)
    for part in [day, region, "s3", "aws4_request"] {
      key = Secret(HMACSHA256.code(key: key, Array(part.utf8)))
    }
    let signature = Hex.encode(HMACSHA256.code(key: key, Array(text.utf8)))
    sent.append(
      (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=\(keys.id)/\(scope),SignedHeaders=\(names),"
          + "Signature=\(signature)"
      ))
    return sent
  }

  /// The query as it is signed and sent: sorted, each name with an equals sign.
  static func text(of query: [(String, String)]) -> String {
    query.map { (PercentEncoding.encode($0.0), PercentEncoding.encode($0.1)) }
      .sorted { $0.0 < $1.0 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }
}
