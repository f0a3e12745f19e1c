import HTTPMessages

/// The strict rules for a header section, which libmicrohttpd applies leniently.
///
/// libmicrohttpd accepts two Hosts, two lengths, a length together with chunked coding, folded lines, bare
/// line feeds and a NUL that cuts a value short. Between a proxy and this server each of them permits request
/// smuggling (RFC 9112, sections 5, 6.3 and 11). So the section is parsed again, from the bytes.
struct HeaderSection {
  private(set) var headers = Headers()
  private(set) var authority = ""
  private(set) var contentLength: Int64?
  private(set) var isChunked = false
  private(set) var waitsForContinue = false
  /// Whether the client expects more than `100-continue`, the only known expectation.
  private(set) var hasUnknownExpectation = false

  /// Far above any body, and so far below 2^63 that no sum of a length and a client's room overflows.
  private static let contentLengthMax: Int64 = 1 << 50

  private var hosts: [[UInt8]] = []
  private var lengths: [[UInt8]] = []

  /// Reads the lines in `block`, from `start` to the empty line that must end it.
  ///
  /// libmicrohttpd has put NUL in `block` in place of each line's colon, CR and LF. A section
  /// without exactly this shape was folded, had bare line feeds or contained NULs itself.
  init(_ block: consuming [UInt8], from start: Int, countMax: Int) throws(Problem) {
    var place = start
    while true {
      guard place + 1 < block.count else { throw Self.malformed("A line does not end in CRLF.") }
      if block[place] == 0 {
        guard block[place + 1] == 0, place + 2 == block.count else {
          throw Self.malformed("A header line is empty or does not end in CRLF.")
        }
        break
      }
      guard headers.fields.count < countMax else {
        throw Problem(
          431, "too_many_headers", "Too many header fields",
          "A request may have at most \(countMax) header fields.")
      }
      try readLine(&block, &place)
    }
    try checkHost()
    try checkFraming()
  }

  private mutating func readLine(_ block: inout [UInt8], _ place: inout Int) throws(Problem) {
    let nameStart = place
    while place < block.count, block[place] != 0 {
      guard let character = Self.token[Int(block[place])] else {
        throw Self.malformed("A header name is not a token; it may not hold or precede a space.")
      }
      block[place] = character
      place += 1
    }
    let name = String(decoding: block[nameStart..<place], as: UTF8.self)
    place += 1
    while place < block.count, block[place] == 0x20 || block[place] == 0x09 { place += 1 }
    let valueStart = place
    while place < block.count, block[place] != 0 {
      let byte = block[place]
      guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else {
        throw Self.malformed("A header value holds a control character.")
      }
      place += 1
    }
    var valueEnd = place
    while valueEnd > valueStart, block[valueEnd - 1] == 0x20 || block[valueEnd - 1] == 0x09 {
      valueEnd -= 1
    }
    // CR and LF, both overwritten: anything else was a bare line feed or a NUL in the value.
    guard place + 1 < block.count, block[place + 1] == 0 else {
      throw Self.malformed("A header value holds a NUL or its line does not end in CRLF.")
    }
    place += 2
    let value = Array(block[valueStart..<valueEnd])
    switch name {
    case "host": hosts.append(value)
    case "content-length": lengths.append(value)
    // The next two values must be what libmicrohttpd compares, so nothing is trimmed.
    case "transfer-encoding":
      guard !isChunked, place - 2 == valueEnd, Self.equals(value, "chunked") else {
        throw Self.malformed("The only Transfer-Encoding accepted is one chunked.")
      }
      isChunked = true
    case "expect":
      let isKnown = place - 2 == valueEnd && Self.equals(value, "100-continue")
      if isKnown && !waitsForContinue {
        waitsForContinue = true
      } else {
        hasUnknownExpectation = true
      }
    default: break
    }
    headers.append(lowercaseName: name, value)
  }

  /// Requires exactly one valid Host (RFC 9112, section 3.2), of HTTP/1.0 as well.
  private mutating func checkHost() throws(Problem) {
    guard hosts.count == 1 else {
      throw Self.malformed("A request must have exactly one Host field; this has \(hosts.count).")
    }
    guard let authority = Authority(hosts[0]) else {
      throw Self.malformed("The Host field is not a host name or address with an optional port.")
    }
    self.authority = authority.text
  }

  private mutating func checkFraming() throws(Problem) {
    guard lengths.count <= 1 else {
      throw Self.malformed("A request may have only one Content-Length field.")
    }
    guard let length = lengths.first else { return }
    guard !isChunked else {
      throw Self.malformed("A request may not have both Content-Length and Transfer-Encoding.")
    }
    guard !length.isEmpty, length.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int64(String(decoding: length, as: UTF8.self)), number <= Self.contentLengthMax
    else { throw Self.malformed("The Content-Length is not a decimal number in range.") }
    contentLength = number
  }

  static func malformed(_ rule: String) -> Problem {
    Problem(400, "malformed_request", "Malformed request", rule)
  }

  static func isTokenCharacter(_ byte: UInt8) -> Bool { token[Int(byte)] != nil }

  private static func equals(_ value: [UInt8], _ word: StaticString) -> Bool {
    String(decoding: value, as: UTF8.self).lowercased() == "\(word)"
  }

  /// The characters of a token (RFC 9110, section 5.6.2) in lower case; nil for all others.
  private static let token: [UInt8?] = {
    var table = [UInt8?](repeating: nil, count: 256)
    for byte in "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz".utf8 {
      table[Int(byte)] = byte
    }
    for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { table[Int(byte)] = byte | 0x20 }
    return table
  }()
}
