package import Base
package import Crypto
import HTTPClient
package import HTTPMessages
import HTTPSignatures
package import JSON

/// A key pair that signs its requests, as an app on a device would.
package final class TestDevice: Sendable {
  package let key: Ed25519PrivateKey
  package let root: Identifier
  private let authority: String
  /// The clock for signatures.
  package let now: @Sendable () -> Instant
  private let observe: (@Sendable (Signed, Answer) -> Void)?
  private let knownAccount = Locked<Identifier?>(nil)
  private let exchange: @Sendable (Signed) throws -> Answer

  /// `now` is the clock for signatures. `observe` sees each request and answer that pass through `exchange`.
  package init(
    authority: String, key: Ed25519PrivateKey = Ed25519PrivateKey(),
    root: Identifier = Random.identifier(),
    observe: (@Sendable (Signed, Answer) -> Void)? = nil, now: @escaping @Sendable () -> Instant,
    through exchange: @escaping @Sendable (Signed) throws -> Answer
  ) {
    self.authority = authority
    self.key = key
    self.root = root
    self.observe = observe
    self.now = now
    self.exchange = exchange
  }

  /// A device that talks to a port of this machine.
  package convenience init(
    port: UInt16, authority: String, key: Ed25519PrivateKey = Ed25519PrivateKey(),
    root: Identifier = Random.identifier(),
    observe: (@Sendable (Signed, Answer) -> Void)? = nil, now: @escaping @Sendable () -> Instant
  ) {
    let client = HTTPClient(bodyByteCountMax: 64 << 20)
    self.init(authority: authority, key: key, root: root, observe: observe, now: now) { request in
      let response = try client.send(
        request.method, "http://127.0.0.1:\(port)\(request.target)", headers: request.headers,
        body: request.body.isEmpty && request.method != "PUT" && request.method != "POST"
          ? nil : request.body, timeout: .seconds(60))
      return Answer(status: response.status, headers: response.headers, body: response.body)
    }
  }

  /// The content of a signed request, which a test may alter before it sends it.
  package struct Signed: Sendable {
    package var method: String
    package var target: String
    package var headers: [(String, String)]
    package var body: [UInt8]

    package init(method: String, target: String, headers: [(String, String)], body: [UInt8]) {
      self.method = method
      self.target = target
      self.headers = headers
      self.body = body
    }
  }

  package func sign(
    _ method: String, _ target: String, body: [UInt8]? = nil, headers: [(String, String)] = [],
    covering fields: [(String, String)] = [],
    nonce: [UInt8] = Array(Hex.encode(Random.bytes(16)).utf8), authority: String? = nil
  ) -> Signed {
    let signer = RequestSigner(key: key, authority: authority ?? self.authority)
    let signature = signer.headers(
      method: method, target: target, body: body, created: now(), nonce: nonce,
      covering: fields)
    return Signed(
      method: method, target: target,
      headers: [("Host", self.authority)] + signature + fields + headers, body: body ?? [])
  }

  package func send(_ request: Signed) throws -> Answer {
    let answer = try exchange(request)
    observe?(request, answer)
    return answer
  }

  package func get(_ target: String, headers: [(String, String)] = []) throws -> Answer {
    try send(sign("GET", target, headers: headers))
  }

  package func post(_ target: String, _ body: JSONValue) throws -> Answer {
    try send(sign("POST", target, body: body.encoded()))
  }

  package func put(_ id: Identifier, _ content: [UInt8], ifMatch: String) throws -> Answer {
    try send(
      sign(
        "PUT", "/v1/files/\(id)/content", body: content, headers: [("If-Match", ifMatch)]))
  }

  /// The account that the key belongs to; the server is asked only once.
  package var account: Identifier {
    get throws {
      if let known = knownAccount.withLock({ $0 }) { return known }
      let answer = try get("/v1/account")
      guard answer.status == 200, let text = try answer.json["account"].string,
        let account = Identifier(text)
      else { throw UnexpectedAnswer(answer) }
      knownAccount.withLock { $0 = account }
      return account
    }
  }
}

package struct Answer: Sendable {
  package let status: Int
  package let headers: Headers
  package let body: [UInt8]

  package init(status: Int, headers: Headers, body: [UInt8]) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  package var json: JSON { get throws { try JSON.parse(body, limits: Self.limits) } }

  private static let limits = JSONLimits(byteCountMax: 1 << 24, valueCountMax: 1 << 20)

  /// Whether the body equals the bytes. `#expect` would spend the whole test on the shortest difference of
  /// two long arrays.
  package func holds(_ bytes: [UInt8]) -> Bool { body == bytes }

  package func header(_ name: String) -> String? {
    headers.text(name.lowercased())
  }

  /// The problem's code, such as `over_cap`; nil if the answer is not a problem.
  package var problem: String? {
    get throws {
      let prefix = "urn:coffer:problem:"
      guard status >= 400, let type = try json["type"].string, type.hasPrefix(prefix) else {
        return nil
      }
      return String(type.dropFirst(prefix.count))
    }
  }
}

package struct UnexpectedAnswer: Error, CustomStringConvertible {
  package let description: String
  package init(_ answer: Answer) {
    description = "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
  }
}
