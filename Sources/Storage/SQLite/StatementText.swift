/// The text of a statement as a key: compared whole, but hashed by its length and a few bytes.
///
/// Hashing it all takes longer than many a statement. No outsider can choose the program's texts to collide.
struct StatementText: Hashable {
  let sql: String

  private static let sampleCount = 16

  init(_ sql: String) { self.sql = sql }

  func hash(into hasher: inout Hasher) {
    let bytes = sql.utf8.span
    var sample = UInt64(bytes.count)
    for part in 1...Self.sampleCount where !bytes.isEmpty {
      let byte = bytes[(bytes.count - 1) * part / Self.sampleCount]
      sample = (sample &* 0x100_0000_01B3) ^ UInt64(byte)
    }
    hasher.combine(sample)
  }
}
