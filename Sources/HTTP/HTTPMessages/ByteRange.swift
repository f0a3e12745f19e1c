/// The part of a representation that a request asks for (RFC 9110, section 14).
///
/// Several ranges at once, other units and unreadable values are ignored: the client then gets the whole.
package enum ByteRange: Sendable, Equatable {
  case whole
  /// Answer 206 with these bytes; never empty.
  case part(Range<Int64>)
  case unsatisfiable

  /// `tag` is the representation's; an If-Range that does not strongly match it voids the range.
  package init(_ head: RequestHead, byteCount: Int64, tag: EntityTag) {
    self = .whole
    guard head.method == "GET", let text = head.headers.text("range") else { return }
    if let condition = head.headers.text("if-range") {
      guard let wanted = EntityTag(field: condition), wanted.matchesStrongly(tag) else { return }
    }
    let unit = text.prefix { $0 != "=" }
    guard unit.count < text.count, unit.lowercased() == "bytes" else { return }
    let range = text.dropFirst(unit.count + 1)
    let ends = range.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return }
    switch (ends[0].isEmpty, ends[1].isEmpty) {
    case (true, true): return
    case (true, false):
      guard let count = Self.number(ends[1]) else { return }
      let isEmpty = count == 0 || byteCount == 0
      self = isEmpty ? .unsatisfiable : .part(max(0, byteCount - count)..<byteCount)
    case (false, let isOpen):
      guard let first = Self.number(ends[0]) else { return }
      guard let last = isOpen ? .max : Self.number(ends[1]), first <= last else { return }
      self =
        first < byteCount ? .part(first..<(min(last, byteCount - 1) + 1)) : .unsatisfiable
    }
  }

  /// The value of Content-Range; nil for the whole.
  package func contentRange(byteCount: Int64) -> String? {
    switch self {
    case .whole: nil
    case .part(let range): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(byteCount)"
    case .unsatisfiable: "bytes */\(byteCount)"
    }
  }

  /// Digits only; a number too large for a position becomes the largest.
  private static func number(_ digits: Substring) -> Int64? {
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(digits) ?? .max
  }
}

extension Response {
  /// The response to a GET or HEAD of stored bytes, with an entity tag: the whole, a part, or 416.
  package static func content(
    _ body: Body, tag: EntityTag, for head: RequestHead,
    headers: [(name: String, value: String)] = []
  ) throws(Problem) -> Response {
    let byteCount = body.byteCount
    let range = ByteRange(head, byteCount: byteCount, tag: tag)
    let contentRange = range.contentRange(byteCount: byteCount)
    var headers = headers + [("ETag", tag.field), ("Accept-Ranges", "bytes")]
    switch range {
    case .whole: return Response(status: 200, headers: headers, body: body)
    case .part(let part):
      if let contentRange { headers.append(("Content-Range", contentRange)) }
      return Response(status: 206, headers: headers, body: body.slice(part))
    case .unsatisfiable:
      throw Problem(
        416, "range_not_satisfiable", "Range not satisfiable",
        "The content has \(byteCount) bytes; the range begins after its end.",
        headers: contentRange.map { [.init("Content-Range", $0)] } ?? [])
    }
  }
}

extension Response.Body {
  fileprivate func slice(_ part: Range<Int64>) -> Response.Body {
    switch self {
    case .inherited, .unsent: self
    case .bytes(let bytes): .bytes(Array(bytes[Int(part.lowerBound)..<Int(part.upperBound)]))
    case .file(let file, let whole):
      .file(file, range: whole.lowerBound + part.lowerBound..<whole.lowerBound + part.upperBound)
    case .blocks(let source, let whole):
      .blocks(
        source, range: whole.lowerBound + part.lowerBound..<whole.lowerBound + part.upperBound)
    }
  }
}
