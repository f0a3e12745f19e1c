import Base
import Billing
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Storage
import Testing

/// A device with a key that the sync program knows, posting claims to billing's route.
struct ClaimingDevice {
  static let authority = "billing.coffer.example"
  static let policy = SignaturePolicy(authorities: [authority])

  private let key = Ed25519PrivateKey()

  /// Registers the key for the account, as coffer-sync would.
  init(of account: Identifier, _ location: DatabaseLocation) throws {
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

  /// Posts a claim; returns the status and the answer's one word.
  func claim(
    _ body: JSONValue, at now: Instant, through service: BillingService
  ) throws -> (status: Int, word: String) {
    let bytes = body.encoded()
    let headers = RequestSigner(key: key, authority: Self.authority).headers(
      method: "POST", target: "/v1/claims", body: bytes, created: now, nonce: Random.bytes(16))
    let head = RequestHead(
      method: "POST", target: "/v1/claims", headers: Headers(headers), authority: Self.authority)
    let route = try #require(service.routes().first { $0.pattern == "/v1/claims" })
    let response: Response
    do {
      response = try route.admit(head, []).wait().finish(bytes).wait()
    } catch {
      response = problem(for: error, head).response(requestID: "r")
    }
    guard case .bytes(let bytes) = response.body else { return (response.status, "") }
    let json = try JSON.parse(bytes)
    let word = json["status"].string ?? json["type"].string ?? ""
    return (response.status, word.split(separator: ":").last.map(String.init) ?? word)
  }
}
