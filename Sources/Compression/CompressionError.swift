/// Why compressed bytes stay as they are.
package enum CompressionError: Error, Sendable, Equatable {
  /// No frame, or one that was cut or changed.
  case malformed
  /// Longer than the caller takes.
  case tooLong
  /// Made with a dictionary that this program does not have.
  case unknownDictionary(UInt32)
}
