/// A message's envelope: when it was made, whether it is encrypted, and the bytes.
struct ActualEnvelope {
  let timestamp: Range<Int>
  private let isEncrypted: Bool
  private let content: Range<Int>

  init(_ bytes: [UInt8], _ place: Range<Int>) throws(ProtobufError) {
    var (timestamp, content, isEncrypted) = (0..<0, 0..<0, false)
    var reader = ProtobufReader(bytes, place)
    while let (field, value) = try reader.next() {
      switch (field, value) {
      case (1, .bytes(let place)): timestamp = place
      case (2, .number(let number)): isEncrypted = number != 0
      case (3, .bytes(let place)): content = place
      default: break
      }
    }
    (self.timestamp, self.content, self.isEncrypted) = (timestamp, content, isEncrypted)
  }

  /// What a log keeps as the message's content: the envelope's other fields. An answer repeats them as they are.
  func kept(of bytes: [UInt8]) -> [UInt8] {
    var kept: [UInt8] = []
    if isEncrypted { ProtobufWriter.write(field: 2, number: 1, to: &kept) }
    if !content.isEmpty { ProtobufWriter.write(field: 3, bytes[content], to: &kept) }
    return kept
  }

  /// At most the length of what is kept.
  var keptByteCount: Int { content.count + 8 }

  /// Whether a message's content is what a log keeps of an envelope. Anything else after the timestamp would make an
  /// answer that clients cannot read, or read another timestamp from.
  static func isKept(_ content: [UInt8]) -> Bool {
    (try? ActualEnvelope(content, content.indices))?.kept(of: content) == content
  }
}
