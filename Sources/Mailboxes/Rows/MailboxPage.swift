import Accounts
import Base
import Crypto
import JSON
import Requests
import Storage

/// What waits in the mailbox of a device, in the order of arrival, as much as one answer has.
enum MailboxPage {
  static let limitMax = 250
  /// A page ends after so much, counted as in the mailbox. So an answer has less than 2.5 MiB.
  private static let byteCountMax: Int64 = 640 << 10

  static func read(
    _ reader: Reader, of key: [UInt8], after number: Int64, limit: Int
  ) throws -> JSONValue {
    var (count, byteCount, last, isFull) = (0, Int64(0), number, false)
    // First the sizes alone: one statement's rows are in memory on PostgreSQL.
    try reader.query(
      """
      SELECT number, bytes FROM sync.mailbox_entries WHERE public_key = $1 AND number > $2
      ORDER BY number LIMIT $3
      """, [.blob(key), .integer(number), .integer(Int64(limit + 1))]
    ) { row in
      guard count < limit, byteCount < byteCountMax else {
        isFull = true
        return false
      }
      count += 1
      byteCount += try row.integer(1)
      last = try row.integer(0)
      return true
    }
    let messages = try reader.rows(
      """
      SELECT e.number, m.id, m.kind, m.sender_id, m.sender_key, m.sent_ms, m.body, m.expired
      FROM sync.mailbox_entries AS e
      JOIN sync.mailbox_messages AS m
        ON m.sender_id = e.sender_id AND m.number = e.message_number
      WHERE e.public_key = $1 AND e.number > $2 AND e.number <= $3 ORDER BY e.number
      """, .blob(key), .integer(number), .integer(last)
    ) { row in try message(row) }
    let packages = try KeyPackageRows.offered(reader, of: key)
    return [
      "messages": .array(messages), "next": isFull ? .integer(last) : .null,
      "key_packages": .integer(packages.count), "last_resort": .bool(packages.hasLastResort),
    ]
  }

  private static func message(_ row: borrowing Row) throws -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("number", .integer(try row.integer(0))),
      .init("id", .string(try row.id(1).description)),
    ]
    let kind = try row.text(2)
    if let expired = try row.optionalBlob(7) {
      let keys = stride(from: 0, to: expired.count, by: Ed25519PublicKey.byteCount).map { start in
        JSONValue.base64(
          Array(expired[start..<min(start + Ed25519PublicKey.byteCount, expired.count)]))
      }
      members += [.init("kind", .string("expired")), .init("devices", .array(keys))]
    } else {
      members += [.init("kind", .string(kind)), .init("body", .base64(try row.optionalBlob(6)))]
    }
    return .object(
      members + [
        .init("account", .string(try row.id(3).description)),
        .init("device", .base64(try row.blob(4))),
        .init("sent", .string(try row.instant(5).description)),
      ])
  }
}
