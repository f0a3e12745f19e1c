import Accounts
import Base
import JSON
import Requests
import Storage
import Tiers

/// The current and the kept versions of one document, each in the order in which they were stored.
enum DocumentHistory {
  /// Reads a page after the version of a number.
  static func read(
    _ reader: Reader, _ document: Identifier, of account: Identifier, after number: Int64,
    limit: Int, catalogue: Catalogue, now: Instant
  ) throws -> JSONValue {
    var page = VersionPage(limit: limit)
    let values: [SQLValue] = [.id(account), .id(document)]
    try page.add(
      reader, where: "account_id = $1 AND document_id = $2 AND replaced_ms IS NOT NULL", values,
      "seq", after: number)
    let current = try VersionRows(reader, of: account).current(of: [document])[document] ?? []
    guard !current.isEmpty || !page.versions.isEmpty || number > 0 else {
      throw DocumentRefusal.documentNotFound
    }
    let retention = try Retention(reader, account, catalogue: catalogue, now: now)
    return [
      "current": .array(
        current.sorted { $0.number < $1.number }.map { version in
          .object(
            [
              .init("author", .base64(version.author)), .init("counter", .integer(version.counter)),
              .init("deleted", .bool(version.isEmpty)),
            ] + (version.writer.map { [.init("account", .string($0.description))] } ?? []))
        }),
      "replaced": .array(
        page.versions.map { stored in
          .object(
            stored.members + [
              .init("replaced", stored.replaced.map { .string($0.description) } ?? .null),
              .init(
                "until", stored.end(under: retention).map { .string($0.description) } ?? .null),
            ])
        }),
      "next": page.isFull ? page.versions.last.map { .integer($0.number) } ?? .null : .null,
    ]
  }
}
