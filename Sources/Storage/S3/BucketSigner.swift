package import Base
import Crypto

/// AWS Signature Version 4, in headers or in the query.
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
    let moment = Moment(now, region)
    var sent = headers
    sent.append(("x-amz-content-sha256", Hex.encode(digest)))
    sent.append(("x-amz-date", moment.time))
    if let token { sent.append(("x-amz-security-token", token)) }
    let all = (sent + [("host", host)]).map { ($0.0.lowercased(), $0.1) }.sorted { $0.0 < $1.0 }
    let names = all.map(\.0).joined(separator: ";")
    let request = [
      method, path, Self.text(of: query), all.map { "\($0.0):\($0.1)\n" }.joined(), names,
      Hex.encode(digest),
    ].joined(separator: "\n")
    sent.append(
      (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=\(keys.id)/\(moment.scope),SignedHeaders=\(names),"
          + "Signature=\(signature(of: request, moment))"
      ))
    return sent
  }

  /// The query with which anyone may read an object, for so many seconds.
  ///
  /// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
  package func query(
    forReading path: String, host: String, seconds: Int64, at now: Instant
  ) -> String {
    let moment = Moment(now, region)
    var query = [
      ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(keys.id)/\(moment.scope)"),
      ("X-Amz-Date", moment.time), ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", "host"),
    ]
    if let token { query.append(("X-Amz-Security-Token", token)) }
    let text = Self.text(of: query)
    let request = ["GET", path, text, "host:\(host)\n", "host", "UNSIGNED-PAYLOAD"]
      .joined(separator: "\n")
    return "\(text)&X-Amz-Signature=\(signature(of: request, moment))"
  }

  private struct Moment {
    let time: String
    let day: String
    let scope: String

    init(_ now: Instant, _ region: String) {
      time = String(now.description.prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
      day = String(time.prefix(8))
      scope = "\(day)/\(region)/s3/aws4_request"
    }
  }

  private var token: String? {
    keys.token.map { String(decoding: $0.exposed, as: UTF8.self) }
  }

  private func signature(of request: String, _ moment: Moment) -> String {
    let text = [
      "AWS4-HMAC-SHA256", moment.time, moment.scope,
      Hex.encode(SHA256.hash(Array(request.utf8))),
    ].joined(separator: "\n")
    var key = Secret(Array("AWS4".utf8) + keys.secret.exposed)
    for part in [moment.day, region, "s3", "aws4_request"] {
      key = Secret(HMACSHA256.code(key: key, Array(part.utf8)))
    }
    return Hex.encode(HMACSHA256.code(key: key, Array(text.utf8)))
  }

  /// The query as it is signed and sent: sorted, each name with an equals sign.
  static func text(of query: [(String, String)]) -> String {
    query.map { (PercentEncoding.encode($0.0), PercentEncoding.encode($0.1)) }
      .sorted { $0.0 < $1.0 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }
}
