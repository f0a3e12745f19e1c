/// The status and the length of an answer, which the load generator must know.
struct ResponseHead {
  let status: Int
  let headByteCount: Int
  /// The length of head and body together.
  let byteCount: Int

  /// Nil while the head is incomplete. Throws if the end cannot be determined: the generator supports only
  /// the Content-Length form, which every server measured here uses.
  static func parse(_ bytes: [UInt8], count: Int) throws(BenchError) -> ResponseHead? {
    guard let headEnd = endOfHead(bytes, count: count) else { return nil }
    guard headEnd > 16, let status = number(bytes, from: 9) else {
      throw .server("an answer without a status")
    }
    if let length = contentLength(bytes, headEnd: headEnd) {
      return ResponseHead(
        status: status, headByteCount: headEnd, byteCount: headEnd + length)
    }
    guard status == 204 || status == 304 else {
      throw .server("an answer without Content-Length")
    }
    return ResponseHead(status: status, headByteCount: headEnd, byteCount: headEnd)
  }

  private static let name = Array("content-length:".utf8)

  private static func endOfHead(_ bytes: [UInt8], count: Int) -> Int? {
    var index = 3
    while index < count {
      if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10 { return index + 1 }
      index += 1
    }
    return nil
  }

  private static func contentLength(_ bytes: [UInt8], headEnd: Int) -> Int? {
    var line = 0
    while line < headEnd {
      if line + name.count < headEnd,
        (0..<name.count).allSatisfy({ bytes[line + $0] | 32 == name[$0] })
      {
        var start = line + name.count
        while bytes[start] == 32 { start += 1 }
        return number(bytes, from: start)
      }
      while line < headEnd, bytes[line] != 10 { line += 1 }
      line += 1
    }
    return nil
  }

  private static func number(_ bytes: [UInt8], from start: Int) -> Int? {
    var value: Int?
    var index = start
    while index < bytes.count, 48...57 ~= bytes[index], index < start + 9 {
      value = (value ?? 0) * 10 + Int(bytes[index] - 48)
      index += 1
    }
    return value
  }
}
