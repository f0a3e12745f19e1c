package import Base
import Crypto
import Endpoints
import HTTPMessages
package import HTTPServer
package import HTTPSignatures
package import JSON
import Simulation
package import Storage

/// A device with a key that the sync program knows. It posts claims to billing's route.
package struct ClaimingDevice: Sendable {
  package static let authority = "billing.coffer.example"
  package static let policy = SignaturePolicy(authorities: [authority])

  private let key = Ed25519PrivateKey()

  /// Registers the key for the account, as coffer-sync would.
  package init(of account: Identifier, _ location: DatabaseLocation) throws {
    let database = try Database.open(location, owning: .sync)
    defer { database.close() }
    let publicKey = key.publicKey.bytes
    try database.write(for: nil) { transaction in
      try transaction.execute(
        """
        INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
        VALUES ($1, $2, 0, 0, 0) ON CONFLICT (id) DO NOTHING
        """, .id(account), .id(Random.identifier()))
      try transaction.execute(
        """
        INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, last_session_ms)
        VALUES ($1, $2, 'test', 0, 1795392000000)
        """, .blob(publicKey), .id(account))
    }
  }

  package var publicKey: [UInt8] { key.publicKey.bytes }

  /// The head of a request, signed now.
  private func head(
    _ method: String, _ target: String, _ bytes: [UInt8], at now: Instant
  ) -> RequestHead {
    let headers = RequestSigner(key: key, authority: Self.authority).headers(
      method: method, target: target, body: bytes, created: now, nonce: Random.bytes(16))
    return RequestHead(
      method: method, target: target, headers: Headers(headers), authority: Self.authority)
  }

  /// Sends a signed GET request.
  package func read(
    _ target: String, at now: Instant, through routes: [Route]
  ) throws -> (status: Int, json: JSON) {
    try Self.answer(to: head("GET", target, [], at: now), [], through: routes)
  }

  /// Sends a signed PUT request with a body.
  package func put(
    _ target: String, _ bytes: [UInt8], at now: Instant, through routes: [Route]
  ) throws -> (status: Int, json: JSON) {
    try Self.answer(to: head("PUT", target, bytes, at: now), bytes, through: routes)
  }

  /// Sends a GET request with the given headers, without a signature.
  package static func read(
    _ target: String, headers: [(String, String)], through routes: [Route]
  ) throws -> (status: Int, json: JSON) {
    let head = RequestHead(
      method: "GET", target: target, headers: Headers(headers), authority: authority)
    return try answer(to: head, [], through: routes)
  }

  private static func answer(
    to head: RequestHead, _ bytes: [UInt8], through routes: [Route]
  ) throws -> (status: Int, json: JSON) {
    guard
      let route = routes.first(where: {
        $0.pattern == head.target && $0.method == head.method
      })
    else {
      return (404, try JSON.parse(Array("{}".utf8)))
    }
    let response: Response
    do {
      response = try route.admit(head, []).outcome().finish(bytes).outcome()
    } catch {
      response = problem(for: error, head).response(requestID: "r")
    }
    guard case .bytes(let body) = response.body, !body.isEmpty else {
      return (response.status, try JSON.parse(Array("{}".utf8)))
    }
    return (response.status, try JSON.parse(body))
  }

  /// Posts a claim through the service's route; returns the status, and the one word of the answer.
  package func claim(
    _ body: JSONValue, at now: Instant, through routes: [Route]
  ) throws -> (status: Int, word: String) {
    try claim(body.encoded(), at: now, through: routes)
  }

  /// Posts any body as a claim.
  package func claim(
    _ bytes: [UInt8], at now: Instant, through routes: [Route]
  ) throws -> (status: Int, word: String) {
    let (status, json) = try Self.answer(
      to: head("POST", "/v1/claims", bytes, at: now), bytes, through: routes)
    let word = json["status"].string ?? json["type"].string ?? ""
    return (status, word.split(separator: ":").last.map(String.init) ?? word)
  }
}
