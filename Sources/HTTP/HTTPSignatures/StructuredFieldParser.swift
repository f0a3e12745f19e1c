import Base

/// The reason why a header field is not accepted as a structured field.
package struct StructuredFieldError: Error, Sendable, Equatable {
  package let reason: String
  /// The offset of the first invalid byte.
  package let byteOffset: Int
}

/// Parses structured fields strictly (RFC 8941, section 4.2), in one pass and limited memory.
///
/// Stricter than the RFC where two parsers could differ: a repeated name is refused, and base64 needs its padding.
package struct StructuredFieldParser {
  package static let byteCountMax = 8192
  /// The most members, items in a list, or parameters: enough for any signature, and cheap to parse.
  package static let elementCountMax = 64

  private let bytes: [UInt8]
  private var index = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  package static func dictionary(
    _ bytes: [UInt8]
  ) throws(StructuredFieldError) -> [StructuredField.Entry] {
    try parse(bytes) { (parser) throws(StructuredFieldError) in try parser.dictionary() }
  }

  package static func list(
    _ bytes: [UInt8]
  ) throws(StructuredFieldError) -> [StructuredField.Member] {
    try parse(bytes) { (parser) throws(StructuredFieldError) in try parser.list() }
  }

  package static func item(_ bytes: [UInt8]) throws(StructuredFieldError) -> StructuredField.Item {
    try parse(bytes) { (parser) throws(StructuredFieldError) in try parser.item() }
  }

  private static func parse<Value>(
    _ bytes: [UInt8],
    _ body: (inout StructuredFieldParser) throws(StructuredFieldError) -> Value
  ) throws(StructuredFieldError) -> Value {
    guard bytes.count <= byteCountMax else {
      throw StructuredFieldError(reason: "too long", byteOffset: byteCountMax)
    }
    var parser = StructuredFieldParser(bytes)
    parser.skipSpaces()
    let value = try body(&parser)
    parser.skipSpaces()
    guard parser.index == bytes.count else { throw parser.error("something follows the end") }
    return value
  }

  private mutating func dictionary() throws(StructuredFieldError) -> [StructuredField.Entry] {
    var entries: [StructuredField.Entry] = []
    while index < bytes.count {
      let name = try key()
      guard !entries.contains(where: { $0.name == name }) else { throw error("a name twice") }
      if take("=") {
        entries.append(.init(name, try member()))
      } else {
        entries.append(.init(name, .item(.init(.boolean(true), try parameters()))))
      }
      guard entries.count <= Self.elementCountMax else { throw error("too many members") }
      guard try goesOn() else { break }
    }
    return entries
  }

  private mutating func list() throws(StructuredFieldError) -> [StructuredField.Member] {
    var members: [StructuredField.Member] = []
    while index < bytes.count {
      members.append(try member())
      guard members.count <= Self.elementCountMax else { throw error("too many members") }
      guard try goesOn() else { break }
    }
    return members
  }

  /// Whether another member follows; a comma at the end is an error.
  private mutating func goesOn() throws(StructuredFieldError) -> Bool {
    skipOptionalWhitespace()
    guard index < bytes.count else { return false }
    guard take(",") else { throw error("a comma was expected") }
    skipOptionalWhitespace()
    guard index < bytes.count else { throw error("nothing follows the comma") }
    return true
  }

  private mutating func member() throws(StructuredFieldError) -> StructuredField.Member {
    peek == UInt8(ascii: "(") ? .innerList(try innerList()) : .item(try item())
  }

  private mutating func innerList() throws(StructuredFieldError) -> StructuredField.InnerList {
    index += 1
    var items: [StructuredField.Item] = []
    while index < bytes.count {
      skipSpaces()
      if take(")") { return .init(items, try parameters()) }
      items.append(try item())
      guard items.count <= Self.elementCountMax else { throw error("too many items") }
      guard peek == UInt8(ascii: " ") || peek == UInt8(ascii: ")") else {
        throw error("a space or a closing parenthesis was expected")
      }
    }
    throw error("a list without end")
  }

  private mutating func item() throws(StructuredFieldError) -> StructuredField.Item {
    let value = try bareItem()
    return .init(value, try parameters())
  }

  private mutating func parameters() throws(StructuredFieldError) -> [StructuredField.Parameter] {
    var parameters: [StructuredField.Parameter] = []
    while take(";") {
      skipSpaces()
      let name = try key()
      guard !parameters.contains(where: { $0.name == name }) else { throw error("a name twice") }
      parameters.append(.init(name, take("=") ? try bareItem() : .boolean(true)))
      guard parameters.count <= Self.elementCountMax else { throw error("too many parameters") }
    }
    return parameters
  }

  private mutating func key() throws(StructuredFieldError) -> String {
    let start = index
    guard let first = peek, first.isLowercaseLetter || first == UInt8(ascii: "*") else {
      throw error("a name was expected")
    }
    while let byte = peek, byte.isKeyCharacter { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func bareItem() throws(StructuredFieldError) -> StructuredField.BareItem {
    guard let first = peek else { throw error("a value was expected") }
    switch first {
    case UInt8(ascii: "-"): return try number()
    case _ where first.isDigit: return try number()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: ":"): return .bytes(try byteSequence())
    case UInt8(ascii: "?"): return .boolean(try boolean())
    case UInt8(ascii: "*"): return .token(token())
    case _ where first.isLetter: return .token(token())
    default: throw error("a value was expected")
    }
  }

  private mutating func number() throws(StructuredFieldError) -> StructuredField.BareItem {
    let sign: Int64 = take("-") ? -1 : 1
    let start = index
    var value: Int64 = 0
    while let byte = peek, byte.isDigit, index - start <= 15 {
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      index += 1
    }
    guard index > start else { throw error("a digit was expected") }
    guard peek == UInt8(ascii: ".") else {
      guard index - start <= 15 else { throw error("an integer has at most 15 digits") }
      return .integer(sign * value)
    }
    guard index - start <= 12 else { throw error("at most 12 digits before the point") }
    index += 1
    var place: Int64 = 1000
    while let byte = peek, byte.isDigit {
      guard place > 1 else { throw error("at most 3 digits behind the point") }
      place /= 10
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      index += 1
    }
    guard place < 1000 else { throw error("a digit was expected") }
    return .decimal(thousandths: sign * value * place)
  }

  private mutating func string() throws(StructuredFieldError) -> String {
    index += 1
    var text: [UInt8] = []
    while let byte = peek {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = peek, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
        else { throw error("only quotes and backslashes are escaped") }
        text.append(escaped)
        index += 1
      case 0x20...0x7E: text.append(byte)
      default:
        index -= 1
        throw error("a string holds printable ASCII only")
      }
    }
    throw error("a string without end")
  }

  private mutating func token() -> String {
    let start = index
    while let byte = peek, byte.isTokenCharacter { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func byteSequence() throws(StructuredFieldError) -> [UInt8] {
    index += 1
    guard let end = bytes[index...].firstIndex(of: UInt8(ascii: ":")) else {
      throw error("a byte sequence without end")
    }
    guard let decoded = Base64.standard.decode(bytes[index..<end]) else {
      throw error("no base64")
    }
    index = end + 1
    return decoded
  }

  private mutating func boolean() throws(StructuredFieldError) -> Bool {
    index += 1
    if take("1") { return true }
    if take("0") { return false }
    throw error("a boolean is ?0 or ?1")
  }

  private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func skipSpaces() {
    while peek == UInt8(ascii: " ") { index += 1 }
  }

  private mutating func skipOptionalWhitespace() {
    while peek == UInt8(ascii: " ") || peek == UInt8(ascii: "\t") { index += 1 }
  }

  private func error(_ reason: String) -> StructuredFieldError {
    StructuredFieldError(reason: reason, byteOffset: index)
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
  fileprivate var isLowercaseLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self }
  fileprivate var isLetter: Bool {
    isLowercaseLetter || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self
  }

  fileprivate var isKeyCharacter: Bool {
    isLowercaseLetter || isDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: "-")
      || self == UInt8(ascii: ".") || self == UInt8(ascii: "*")
  }

  /// tchar of RFC 9110, section 5.6.2, and the colon and slash that RFC 8941 adds.
  fileprivate var isTokenCharacter: Bool {
    isDigit || isLetter || "!#$%&'*+-.^_`|~:/".utf8.contains(self)
  }
}
