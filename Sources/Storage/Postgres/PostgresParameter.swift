import CPostgres

/// A bound value with its explicit type, in PostgreSQL's binary format.
package struct PostgresParameter: Sendable {
  /// The type's fixed number; 0 leaves the type of a NULL to the server.
  let type: UInt32
  let bytes: [UInt8]?

  package static let null = PostgresParameter(type: 0, bytes: nil)

  /// int8.
  package static func integer(_ value: Int64) -> PostgresParameter {
    let bits = UInt64(bitPattern: value)
    return PostgresParameter(
      type: 20, bytes: (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) })
  }

  /// text.
  package static func text(_ value: String) -> PostgresParameter {
    PostgresParameter(type: 25, bytes: Array(value.utf8))
  }

  /// bytea.
  package static func blob(_ value: [UInt8]) -> PostgresParameter {
    PostgresParameter(type: 17, bytes: value)
  }
}
