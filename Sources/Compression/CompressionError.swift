/// Why bytes cannot be decompressed.
package enum CompressionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Not a frame, or one that was cut or changed.
  case malformed
  case tooLong
  /// Made with a dictionary that this program does not have.
  case unknownDictionary(UInt32)

  package var description: String {
    switch self {
    case .malformed: "it was cut or changed"
    case .tooLong: "it is longer than any delivery"
    case .unknownDictionary(let number): "it needs dictionary \(number), which this program lacks"
    }
  }
}
