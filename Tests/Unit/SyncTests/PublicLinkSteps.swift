import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices

extension TestDevice {
  /// Publishes a content under an id.
  func publish(
    _ id: Identifier, _ content: [UInt8], ifMatch: String? = "\"0\"", _ query: String = ""
  ) throws -> Answer {
    try send(
      sign(
        "PUT", "/v1/public/\(id)\(query)", body: content,
        headers: ifMatch.map { [("If-Match", $0)] } ?? []))
  }

  /// Publishes a content under a new id, and returns the token.
  func published(_ content: [UInt8], _ query: String = "") throws -> (id: Identifier, token: String)
  {
    let id = Random.identifier()
    let answer = try publish(id, content, ifMatch: "\"0\"", query)
    guard let token = try answer.json["token"].string else { throw UnexpectedAnswer(answer) }
    return (id, token)
  }

  func unpublish(_ id: Identifier) throws -> Answer {
    try send(sign("DELETE", "/v1/public/\(id)"))
  }
}

extension TestServer {
  /// Gives an account as many links as it may have, with contents that no store has.
  func fillLinks(of account: Identifier) throws {
    try database.write(for: nil) { transaction in
      for number in Int64(1)...1000 {
        try transaction.execute(
          """
          INSERT INTO sync.public_links
            (owner_id, id, token_hash, seq, version, object_id, content_bytes, cache_seconds,
             created_ms)
          VALUES ($1, $2, $3, $4, 1, $5, 0, 0, 1)
          """, .id(account), .id(Random.identifier()), .blob(Random.bytes(32)),
          .integer(1_000_000 + number), .id(Random.identifier()))
      }
    }
  }

  /// What anyone gets for a token, without an account.
  func fetch(
    _ token: String, _ method: String = "GET", headers: [(String, String)] = [],
    through device: TestDevice? = nil
  ) throws -> Answer {
    try (device ?? self.device()).send(
      .init(
        method: method, target: "/p/\(token)", headers: [("Host", Self.authority)] + headers,
        body: []))
  }
}
