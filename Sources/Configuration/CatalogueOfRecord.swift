package import Base
import JSON
package import Storage
package import Tiers

/// The catalogue that all programs of an installation obey, stored in the database with those before it.
///
/// The first coffer-billing makes its own the one of record; `coffer plan apply` changes it. A program with
/// another one is refused, so that no two programs differ about the same plan.
package struct CatalogueOfRecord: Sendable {
  /// Counts from 1.
  package let number: Int64
  /// SHA-256 of its whole content, in hexadecimal.
  package let digest: String
  package let version: String
  package let since: Instant
  package let catalogue: Catalogue

  private static let columns = "number, digest, version, content, since_ms"

  private init(_ row: borrowing Row) throws {
    number = try row.integer(0)
    digest = try row.text(1)
    version = try row.text(2)
    let content = try JSON.parse(Array(try row.text(3).utf8))
    let catalogue = try Catalogue(content: content["derived"], shown: content["shown"])
    self.catalogue = content["file"].string.map { catalogue.written(as: $0) } ?? catalogue
    since = try row.instant(4)
  }

  /// The number of the current one, without its content; nil before a coffer-billing has started.
  package static func lastNumber(reading database: some Queryable) throws -> Int64? {
    try database.first(
      "SELECT number FROM billing.catalogues_of_record ORDER BY number DESC LIMIT 1"
    ) { row in try row.integer(0) }
  }

  /// The current one; nil before a coffer-billing has started.
  package static func find(reading database: some Queryable) throws -> CatalogueOfRecord? {
    try all(limit: 1, reading: database).first
  }

  /// The one with that number; nil if there is none.
  package static func find(
    _ number: Int64, reading database: some Queryable
  ) throws -> CatalogueOfRecord? {
    try database.first(
      "SELECT \(columns) FROM billing.catalogues_of_record WHERE number = $1", .integer(number)
    ) { row in try CatalogueOfRecord(row) }
  }

  /// The latest one with the same version as `catalogue` but other content; nil if there is none.
  package static func namesake(
    of catalogue: Catalogue, reading database: some Queryable
  ) throws -> CatalogueOfRecord? {
    try database.first(
      """
      SELECT \(columns) FROM billing.catalogues_of_record WHERE version = $1 AND digest <> $2
      ORDER BY number DESC LIMIT 1
      """, .text(catalogue.version), .text(catalogue.digest)
    ) { row in try CatalogueOfRecord(row) }
  }

  /// The catalogues below a number, newest first; at most `limit`.
  package static func all(
    below number: Int64 = .max, limit: Int, reading database: some Queryable
  ) throws -> [CatalogueOfRecord] {
    try database.rows(
      """
      SELECT \(columns) FROM billing.catalogues_of_record WHERE number < $1
      ORDER BY number DESC LIMIT $2
      """, .integer(number), .integer(limit)
    ) { row in try CatalogueOfRecord(row) }
  }

  /// The catalogue to obey. `given` is the configured one; nil if none is configured. `other` applies if there is
  /// neither that nor one of record.
  ///
  /// - Throws: A `ConfigurationError` if `given` is not the catalogue of record.
  package static func settled(
    _ given: Catalogue?, else other: Catalogue = .standard, reading database: some Queryable
  ) throws -> Catalogue {
    guard let record = try find(reading: database) else { return given ?? other }
    guard let given, given.digest != record.digest else { return record.catalogue }
    throw ConfigurationError([
      .init(
        .invalid,
        "\(SharedSettings.plans.name) is the catalogue \(given.version), digest \(given.digest)"),
      .init(
        .invalid,
        "the catalogue of record is \(record.version), digest \(record.digest), since "
          + "\(record.since)"),
      .init(
        .invalid,
        "name the file of that one in \(SharedSettings.plans.name), or remove the setting "
          + "(docs/settings.md); coffer plan apply <file> applies another one"),
    ])
  }

  /// The most catalogues before the one of record that are remembered.
  private static let formerCountMax = 1000

  /// The catalogue in force with those before it, for programs that delete what no plan keeps.
  package static func remembering(
    _ catalogue: Catalogue, reading database: some Queryable
  ) throws -> Catalogue {
    let records = try all(limit: formerCountMax + 1, reading: database)
    return catalogue.following(
      zip(records, records.dropFirst()).map { Catalogue.Former($1.catalogue, end: $0.since) })
  }

  /// Like `settled`, but the first catalogue becomes the one of record. For coffer-billing.
  package static func establish(
    _ given: Catalogue?, at now: Instant, in transaction: Transaction
  ) throws -> Catalogue {
    if let record = try find(reading: transaction) {
      if let given { try keepFile(of: given, for: record, in: transaction) }
    } else {
      try add(given ?? .standard, as: 1, at: now, in: transaction)
    }
    return try settled(given, reading: transaction)
  }

  /// Makes another catalogue the one of record, after `before`.
  package static func put(
    _ catalogue: Catalogue, after before: CatalogueOfRecord?, at now: Instant,
    in transaction: Transaction
  ) throws {
    try add(catalogue, as: (before?.number ?? 0) + 1, at: now, in: transaction)
    // Another operator may have been faster.
    guard try find(reading: transaction)?.digest == catalogue.digest else {
      throw DatabaseError.busy(retryAfterSeconds: 1)
    }
  }

  /// Stores the catalogue's file if the record has none, because earlier versions kept none.
  private static func keepFile(
    of given: Catalogue, for record: CatalogueOfRecord, in transaction: Transaction
  ) throws {
    guard record.catalogue.file == nil, given.file != nil, given.digest == record.digest else {
      return
    }
    try transaction.execute(
      "UPDATE billing.catalogues_of_record SET content = $1 WHERE number = $2",
      .text(given.kept), .integer(record.number))
  }

  private static func add(
    _ catalogue: Catalogue, as number: Int64, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.catalogues_of_record (number, digest, version, content, since_ms)
      VALUES ($1, $2, $3, $4, $5) ON CONFLICT (number) DO NOTHING
      """, .integer(number), .text(catalogue.digest), .text(catalogue.version),
      .text(catalogue.kept), .instant(now))
  }
}

extension Catalogue {
  /// Identifies the whole content.
  package var digest: String { whole.digest }

  private var whole: JSONValue { .object(said) }

  private var said: [JSONValue.Member] {
    [.init("derived", content), .init("shown", shown)]
  }

  /// The form that is stored: with its file, which contains nothing more that distinguishes it from another.
  fileprivate var kept: String {
    let members = said + (file.map { [.init("file", .string($0))] } ?? [])
    return String(decoding: JSONValue.object(members).encoded(), as: UTF8.self)
  }
}
