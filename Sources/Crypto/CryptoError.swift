/// Why sealed bytes stay closed, or why a key cannot be used. It never holds either.
package enum CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A sealing key has not 32 bytes.
  case keyLength
  /// There is no sealing key at all.
  case keyMissing
  /// Too short, or a format that this program does not know.
  case malformed
  /// None of the configured keys sealed this: perhaps one was removed too early.
  case unknownKey
  /// The bytes or their context were changed after sealing.
  case notAuthentic

  package var description: String {
    switch self {
    case .keyLength: "a key has not 32 bytes"
    case .keyMissing: "there is none"
    case .malformed: "it is in no form that this program knows"
    case .unknownKey: "none of them sealed it"
    case .notAuthentic: "it was changed after it was sealed"
    }
  }
}
