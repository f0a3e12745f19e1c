import Base

extension StoredObject {
  /// The most of a file that is in memory at once.
  private static let fileBlockByteCount: Int64 = 1 << 20

  private var blockByteCount: Int64 {
    if case .distant = self { ObjectParts.blockByteCount } else { Self.fileBlockByteCount }
  }

  /// Reads the object from its first byte to its last, block by block.
  ///
  /// - Throws: What `each` throws, and `.unavailable` if the object ends before its length.
  package func read(each: (RawSpan) throws(ObjectStoreError) -> Void) throws(ObjectStoreError) {
    var start: Int64 = 0
    while start < byteCount {
      let end = min(start + blockByteCount, byteCount)
      let block = try block(start..<end)
      try each(unsafe block.span.bytes)
      start = end
    }
  }

  private func block(_ range: Range<Int64>) throws(ObjectStoreError) -> [UInt8] {
    switch self {
    case .distant(let object): return try object.read(range)
    case .file(let file):
      guard let bytes = file.read(at: range.lowerBound, count: range.count) else {
        throw DirectoryStore.failure("read")
      }
      return bytes
    }
  }
}
