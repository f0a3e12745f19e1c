import Base

/// A message: when it was made, and its ciphertext.
package struct LogMessage: Sendable, Equatable {
  package let timestamp: LogTimestamp
  package let content: [UInt8]

  /// The charge for a message besides its content: its timestamp, its number and its part of the indexes.
  static let overheadByteCount: Int64 = 64
  static let contentByteCountMax = 64 * 1024

  package init(_ timestamp: LogTimestamp, _ content: [UInt8]) {
    self.timestamp = timestamp
    self.content = content
  }

  var chargedByteCount: Int64 { Int64(content.count) + Self.overheadByteCount }

  /// `{"t":…,"c":…}`, written here because a page has thousands of them.
  func write(to text: inout [UInt8]) {
    text += #"{"t":""#.utf8
    text += timestamp.text
    text += #"","c":""#.utf8
    text += Base64.standard.encode(content).utf8
    text += #""}"#.utf8
  }
}
