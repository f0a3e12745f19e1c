/// Why sealed bytes stay closed, or why a key cannot be used. It never holds either.
package enum CryptoError: Error, Sendable, Equatable {
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
}
