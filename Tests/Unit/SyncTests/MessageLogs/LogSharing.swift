import Base
import Crypto
import JSON
import Requests
import TestDevices

/// What devices do with the shares of logs.
extension TestDevice {
  func sharePath(_ log: KnownLog, _ account: Identifier) -> String {
    "\(log.path)/shares/\(account)"
  }

  /// A grant of a share, signed by `signer`, or by this device.
  func logGrant(
    _ log: KnownLog, to account: Identifier, mode: String = "read", key: [UInt8] = [7],
    signer: TestDevice? = nil
  ) -> JSONValue {
    let members: JSONValue = [
      "account": .string(account.description), "key": .base64(key),
      "log": .string(log.id.description), "mode": .string(mode), "state": "granted",
    ]
    let bytes = JSONValue.object([.init("log_share", members)]).canonical()
    return [
      "state": "granted", "mode": .string(mode), "key": .base64(key),
      "signature": .base64((signer ?? self).key.signature(for: bytes)),
    ]
  }

  func putShare(
    _ log: KnownLog, _ account: Identifier, _ body: JSONValue
  ) throws -> Answer {
    try send(sign("PUT", sharePath(log, account), body: body.encoded()))
  }

  func grantLog(_ log: KnownLog, to account: Identifier, mode: String = "read") throws -> Answer {
    try putShare(log, account, logGrant(log, to: account, mode: mode))
  }

  func acceptLog(_ log: KnownLog) throws -> Answer {
    try putShare(log, account, ["state": "accepted"])
  }

  func endLogShare(_ log: KnownLog, with account: Identifier) throws -> Answer {
    try remove(sharePath(log, account))
  }

  /// Grants a share, which the other device accepts.
  func shareLog(_ log: KnownLog, with other: TestDevice, mode: String = "read") throws {
    try grantLog(log, to: other.account, mode: mode).requireSuccess()
    try other.acceptLog(log).requireSuccess()
  }

  /// The states of a log's shares, as this device sees them.
  func shareStates(of log: KnownLog) throws -> [String] {
    try (get("\(log.path)/shares").json["shares"].array ?? []).compactMap { $0["state"].string }
  }
}
