import Accounts
import Base
import Crypto
import JSON
import Mailboxes
import Requests
import Storage
import Sync
import TestDevices
import Testing

/// Steps of stories about mailboxes and key packages.
extension TestDevice {
  func mail(
    _ id: Identifier = Random.identifier(), _ body: [UInt8] = [1, 2, 3], to keys: [[UInt8]]
  ) throws -> Answer {
    try post(
      "/v1/messages",
      [
        "id": .string(id.description), "to": .array(keys.map { .base64($0) }),
        "body": .base64(body),
      ])
  }

  func mailbox(_ query: String = "") throws -> JSON {
    let answer = try get("/v1/mailbox\(query)")
    try answer.requireSuccess()
    return try answer.json
  }

  /// The bodies of what waits, in order; nil for a message that has expired.
  func mailBodies() throws -> [[UInt8]?] {
    (try mailbox()["messages"].array ?? []).map { $0["body"].base64 }
  }

  func acknowledge(_ number: Int64, error: String? = nil) throws -> Answer {
    try remove("/v1/mailbox/\(number)" + (error.map { "?error=\($0)" } ?? ""))
  }

  /// Acknowledges everything that waits.
  func acknowledgeAll() throws {
    for message in try mailbox()["messages"].array ?? [] {
      try acknowledge(message["number"].integer ?? -1).requireSuccess()
    }
  }

  /// What looks like a key package of this device, as far as a server reads it.
  func keyPackage(_ number: UInt8, of key: [UInt8]? = nil) -> [UInt8] {
    var bytes: [UInt8] = [0, 1, 0, 1]
    for part in [[UInt8](repeating: number, count: 32), [UInt8](repeating: 7, count: 32)] {
      bytes += [UInt8(part.count)] + part
    }
    bytes += [32] + (key ?? publicKey)
    return bytes + [1, 2, number]
  }

  func offer(_ packages: [[UInt8]], lastResort: [UInt8]? = nil) throws -> Answer {
    try post(
      "/v1/key-packages",
      ["key_packages": .array(packages.map { .base64($0) }), "last_resort": .base64(lastResort)])
  }

  func claim(from key: [UInt8]) throws -> Answer {
    try send(sign("POST", "/v1/devices/\(Base64.url.encode(key))/key-packages/claim"))
  }
}

extension TestServer {
  /// Lets two accounts know each other.
  func introduce(_ one: TestDevice, _ other: TestDevice) throws {
    try one.share(one.add("folder"), with: other)
  }

  /// Two devices of accounts that know each other.
  func contacts() throws -> (TestDevice, TestDevice) {
    let (one, other) = (try register(), try register())
    try introduce(one, other)
    return (one, other)
  }

  func change(_ sql: String, _ values: SQLValue...) throws {
    try database.write(for: nil) { transaction in
      _ = try transaction.execute(sql, values: values)
    }
  }

  var mailboxRecount: Recount {
    Recount(
      database, catalogue: catalogue, protocols: [FileTrees.self, DeviceMailboxes.self])
  }

  /// Records an issue unless the accounts' totals, mailboxes, usage and ledger are what their rows add up to.
  func requireMailboxes(_ devices: TestDevice...) throws {
    for device in devices {
      let account = try device.account
      #expect(try DeviceMailboxes.faults(of: account, in: database) == [])
      let finding = try #require(try mailboxRecount.audit(account))
      #expect(finding.isRight, "\(finding)")
    }
  }
}
