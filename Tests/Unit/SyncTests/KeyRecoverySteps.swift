import Base
import Crypto
import JSON
import Requests
import TestDevices

extension TestDevice {
  /// The statement that names a recovery key, signed by both keys.
  func naming(
    _ recovery: Ed25519PrivateKey, delayDays: Int64, by author: Ed25519PrivateKey? = nil
  ) throws -> JSONValue {
    let statement: JSONValue = [
      "account": .string(try account.description), "created": .integer(now().seconds),
      "delay_days": .integer(delayDays), "key": .base64(recovery.publicKey.bytes),
    ]
    let signed = JSONValue.object([.init("recovery", statement)]).canonical()
    return [
      "recovery": statement, "proof": .base64(recovery.signature(for: signed)),
      "signature": .base64((author ?? key).signature(for: signed)),
    ]
  }

  func name(_ recovery: Ed25519PrivateKey, delayDays: Int64) throws -> Answer {
    let body = try naming(recovery, delayDays: delayDays).encoded()
    return try send(sign("PUT", "/v1/recovery-key", body: body))
  }

  func putBackup(_ content: [UInt8], ifMatch: String? = "\"0\"") throws -> Answer {
    try send(
      sign(
        "PUT", "/v1/key-backup", body: content,
        headers: ifMatch.map { [("If-Match", $0)] } ?? []))
  }

  /// As a recovery key: asks to let a device in, or only to read the backup.
  func recover(
    _ account: Identifier, letting guest: TestDevice? = nil,
    signedBy author: Ed25519PrivateKey? = nil
  ) throws -> Answer {
    guard let guest else { return try post("/v1/recovery", .object([])) }
    let statement = KeyStatement(
      .device, account: account, key: guest.key.publicKey.bytes, created: now().seconds)
    return try post(
      "/v1/recovery",
      [
        "device": statement.json, "label": "new phone",
        "proof": statement.signature(by: guest.key),
        "signature": statement.signature(by: author ?? key),
      ])
  }

  /// The states of the account's recoveries, the latest first.
  func recoveryStates() throws -> [String] {
    try (get("/v1/recovery").json["recoveries"].array ?? []).compactMap { $0["state"].string }
  }
}

extension Answer {
  func requireMade() throws {
    guard status == 201 else { throw UnexpectedAnswer(self) }
  }
}
