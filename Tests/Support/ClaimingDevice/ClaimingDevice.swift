package import Base
internal import Crypto
internal import Endpoints
internal import HTTPMessages
package import HTTPServer
package import HTTPSignatures
package import JSON
internal import Simulation
package import Storage

/// A device with a key that the sync program knows, posting claims to billing's route.
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
        INSERT INTO sync.device_keys (public_key, account_id, label, added_ms)
        VALUES ($1, $2, 'test', 0)
        """, .blob(publicKey), .id(account))
    }
  }

  /// The head of a claim, signed now.
  private func head(_ bytes: [UInt8], at now: Instant) -> RequestHead {
    let headers = RequestSigner(key: key, authority: Self.authority).headers(
      method: "POST", target: "/v1/claims", body: bytes, created: now, nonce: Random.bytes(16))
    return RequestHead(
      method: "POST", target: "/v1/claims", headers: Headers(headers), authority: Self.authority)
  }

  /// Posts a claim through the service's route; returns the status and the answer's one word.
  package func claim(
    _ body: JSONValue, at now: Instant, through routes: [Route]
  ) throws -> (status: Int, word: String) {
    try claim(body.encoded(), at: now, through: routes)
  }

  /// The same with whatever body.
  package func claim(
    _ bytes: [UInt8], at now: Instant, through routes: [Route]
  ) throws -> (status: Int, word: String) {
    let head = head(bytes, at: now)
    guard let route = routes.first(where: { $0.pattern == head.target }) else { return (404, "") }
    let response: Response
    do {
      response = try route.admit(head, []).outcome().finish(bytes).outcome()
    } catch {
      response = problem(for: error, head).response(requestID: "r")
    }
    guard case .bytes(let bytes) = response.body else { return (response.status, "") }
    let json = try JSON.parse(bytes)
    let word = json["status"].string ?? json["type"].string ?? ""
    return (response.status, word.split(separator: ":").last.map(String.init) ?? word)
  }
}
