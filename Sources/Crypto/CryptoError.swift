/// Why sealed bytes cannot be opened, or a key cannot be used. It never contains either.
package enum CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
  case keyLength
  case keyMissing
  /// The bytes are too short, or of a format that this program does not know.
  case malformed
  /// None of the configured keys sealed these bytes. Perhaps one was removed too early.
  case unknownKey
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
