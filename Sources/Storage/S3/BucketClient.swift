import Base
import Crypto
import HTTPClient
import HTTPMessages
import Objects
import XML

/// Requests to one bucket. Keys are random and written once, so that every request may be repeated.
///
/// Any thread may call it. A call blocks until there is an answer, or five attempts have failed.
final class BucketClient: Sendable {
  typealias Reply = HTTPClient.Reply

  let address: BucketAddress
  /// Without TLS, bodies have an MD5, too: not every service compares the digest that the signature has.
  var sendsMD5: Bool { address.scheme == "http" }
  private let signer: BucketSigner
  /// An answer holds a block of an object, or a page of a list.
  private let http: HTTPClient

  private static let pauses: [Int64] = [100, 300, 1000, 3000]
  private static let shortSpan = Instant.Span.seconds(15)

  init(_ address: BucketAddress, _ keys: BucketKeys) {
    self.address = address
    signer = BucketSigner(keys, region: address.region)
    http = HTTPClient(
      bodyByteCountMax: Int(ObjectParts.blockByteCount) + (1 << 20),
      authorityFile: address.authorityFile)
  }

  /// One request of a key, or of the bucket if that is nil. Every status that is not a passing failure is an answer.
  ///
  /// `digest` is the body's SHA-256. An answer that `isWhole` does not accept counts as cut off.
  func send(
    _ method: String, _ key: String? = nil, query: [(String, String)] = [],
    headers: [(String, String)] = [], body: HTTPClient.Body? = nil, digest: [UInt8]? = nil,
    within span: Instant.Span = shortSpan, isWhole: (Reply) -> Bool = { _ in true }
  ) throws(ObjectStoreError) -> Reply {
    let path = path(key)
    let text = query.isEmpty ? "" : "?" + BucketSigner.text(of: query)
    let url = "\(address.scheme)://\(address.authority)\(path)\(text)"
    var failure = ""
    for pause in [0] + Self.pauses {
      if pause > 0 { Self.rest(pause + Int64.random(in: 0...(pause / 2))) }
      let signed = signer.signed(
        method, host: address.authority, path: path, query: query, headers: headers,
        digest: digest ?? BucketSigner.emptyDigest, at: Clock.system.now())
      do throws(HTTPClientError) {
        let reply = try http.sendRepeatable(method, url, headers: signed, body: body, timeout: span)
        if !Self.passes(reply, to: method) {
          if isWhole(reply) { return reply }
          failure = "the answer was cut off, or is another than asked for"
        } else {
          failure = "it answered \(reply.status) \(Self.code(of: reply))"
        }
      } catch {
        if case .invalidRequest = error { throw .misconfigured(reason: "\(error)") }
        failure = error.description
      }
      Log.warning("objects.retry", ["method": method, "reason": failure])
    }
    throw .unavailable(reason: "the object store cannot be used: \(failure)")
  }

  private func path(_ key: String?) -> String {
    "/\(address.bucket)" + (key.map { "/\(address.prefix)\($0)" } ?? "/")
  }

  func link(to key: String, seconds: Int64) -> String {
    let query = signer.query(
      forReading: path(key), host: address.authority, seconds: seconds, at: Clock.system.now())
    return "\(address.scheme)://\(address.authority)\(path(key))?\(query)"
  }

  /// Whether the failure passes, so that the request is repeated.
  private static func passes(_ reply: Reply, to method: String) -> Bool {
    switch reply.status {
    case 408, 429, 500, 502, 503, 504: true
    case 400: code(of: reply) == "RequestTimeout"
    // The service began its answer before it knew. What a read answers with may be anyone's content.
    case 200:
      method != "GET" && reply.body.count < 4096
        && ["InternalError", "SlowDown"].contains(code(of: reply))
    default: false
    }
  }

  private static func rest(_ milliseconds: Int64) {
    let never: Locked<Bool> = Locked(false)
    _ = never.wait(until: .now() + .milliseconds(milliseconds)) { $0 ? true : nil }
  }

  /// The service's name for the failure; empty if it gave none.
  static func code(of reply: Reply) -> String {
    guard let error = XMLElement(reply.body), error.name == "Error", let code = error["Code"]?.text
    else { return "" }
    let isPlain = code.utf8.count <= 64 && code.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    return isPlain ? code : ""
  }

  func refusal(_ reply: Reply) -> ObjectStoreError {
    let code = Self.code(of: reply)
    let status = "\(reply.status)\(code.isEmpty ? "" : " \(code)")"
    switch (reply.status, code) {
    case (_, "NoSuchBucket"):
      return .misconfigured(reason: "there is no bucket \(address.bucket)")
    case (300..<400, _), (_, "AuthorizationHeaderMalformed"),
      (_, "IllegalLocationConstraintException"):
      return .misconfigured(
        reason: "the bucket is at another endpoint, or in another region than \(address.region)")
    case (_, "RequestTimeTooSkewed"):
      return .misconfigured(reason: "this machine's clock differs too much from the object store's")
    case (_, "ExpiredToken"):
      return .misconfigured(reason: "the keys of the object store have expired")
    case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"), (_, "InvalidToken"), (401, _):
      return .misconfigured(reason: "the object store does not know these keys (\(status))")
    case (403, _):
      return .misconfigured(reason: "the object store refuses what these keys ask (\(status))")
    default: return .unavailable(reason: "the object store answered \(status)")
    }
  }

  /// The elements of a list, page by page. `root` names its pages: any other answer would look like an empty list.
  func list(
    _ root: String, _ parameters: [(String, String)],
    next: (XMLElement) throws(ObjectStoreError) -> [(String, String)]?,
    each: (XMLElement, Reply) -> Void
  ) throws(ObjectStoreError) {
    var more: [(String, String)]? = []
    var seen: Set<[String]> = []
    while let position = more {
      guard seen.insert(position.map { $0.1 }).inserted else {
        throw .unavailable(reason: "the object store's list comes back to where it was")
      }
      let reply = try send("GET", query: parameters + position) {
        $0.status != 200 || Self.isComplete($0) && XMLElement($0.body)?.name == root
      }
      // rclone answers so to a list of uploads as long as there was none.
      if reply.status == 404, Self.code(of: reply) == "NoSuchUpload" { return }
      guard reply.status == 200, let page = XMLElement(reply.body) else { throw refusal(reply) }
      each(page, reply)
      more = page["IsTruncated"]?.text == "true" ? try next(page) : nil
    }
  }

  /// Whether the answer has the length that it announces. One that announces none may have been cut off.
  static func isComplete(_ reply: Reply) -> Bool {
    if let length = reply.headers.text("content-length") { return Int(length) == reply.body.count }
    // libcurl knows the end of a chunked answer.
    return reply.headers.text("transfer-encoding")?.lowercased() == "chunked"
  }

  static func time(of reply: Reply) -> Instant {
    reply.headers.text("date").flatMap { Instant(httpDate: $0) } ?? Clock.system.now()
  }

  /// Stores a small object, or a file. `isNew` replaces none if the store can do that; false if there is one.
  func put(
    _ key: String, _ body: HTTPClient.Body, _ digest: BodyDigest, isNew: Bool = false,
    within span: Instant.Span = shortSpan
  ) throws(ObjectStoreError) -> Bool {
    let sum = Base64.standard.encode(digest.sha256)
    let headers = digest.headers + [("x-amz-checksum-sha256", sum)]
    var reply = try send(
      "PUT", key, headers: headers + (isNew ? [("If-None-Match", "*")] : []), body: body,
      digest: digest.sha256, within: span)
    if isNew, reply.status == 501 {
      reply = try send(
        "PUT", key, headers: headers, body: body, digest: digest.sha256, within: span)
    }
    switch reply.status {
    case 200..<300: return true
    case 409 where isNew, 412 where isNew: return false
    default: throw refusal(reply)
    }
  }

  func put(_ key: String, _ text: String, isNew: Bool = false) throws(ObjectStoreError) -> Bool {
    let bytes = Array(text.utf8)
    return try put(key, .bytes(bytes), BodyDigest(bytes, withMD5: sendsMD5), isNew: isNew)
  }

  func firstLine(_ key: String) throws(ObjectStoreError) -> (text: String, reply: Reply)? {
    let reply = try send("GET", key) { $0.status != 200 || Self.isComplete($0) }
    if reply.status == 404, Self.code(of: reply) != "NoSuchBucket" { return nil }
    guard reply.status == 200 else { throw refusal(reply) }
    return (String(decoding: reply.body.prefix { $0 != 10 }, as: UTF8.self), reply)
  }

  /// The headers of an object; nil if there is none.
  func head(_ key: String) throws(ObjectStoreError) -> Reply? {
    let reply = try send("HEAD", key, headers: [("x-amz-checksum-mode", "ENABLED")])
    switch reply.status {
    case 200: return reply
    case 404: return nil
    default: throw refusal(reply)
    }
  }

  func delete(_ key: String) throws(ObjectStoreError) {
    let reply = try send("DELETE", key)
    guard
      (200..<300).contains(reply.status)
        || reply.status == 404 && Self.code(of: reply) != "NoSuchBucket"
    else { throw refusal(reply) }
  }
}
