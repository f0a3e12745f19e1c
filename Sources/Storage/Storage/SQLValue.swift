package import Base

/// A value bound to a statement's parameter: the types that both engines share.
///
/// An identifier travels as a 16-byte blob, an instant as its milliseconds.
package enum SQLValue: Sendable, Equatable {
  case null
  case integer(Int64)
  /// U+0000 is refused when bound: PostgreSQL cannot store it.
  case text(String)
  case blob([UInt8])

  package static func integer(_ value: Int) -> SQLValue { .integer(Int64(value)) }
  package static func id(_ value: Identifier) -> SQLValue { .blob(value.bytes) }
  package static func instant(_ value: Instant) -> SQLValue { .integer(value.milliseconds) }

  package static func integer(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
  package static func text(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
  package static func blob(_ value: [UInt8]?) -> SQLValue { value.map { .blob($0) } ?? .null }
  package static func id(_ value: Identifier?) -> SQLValue { value.map { .id($0) } ?? .null }
  package static func instant(_ value: Instant?) -> SQLValue {
    value.map { .instant($0) } ?? .null
  }
}
