/// What one document may cost: it is checked before anything is allocated for it.
package struct JSONLimits: Sendable {
  package var byteCountMax: Int
  /// Arrays and objects inside one another; a scalar alone has depth 0, `[]` has 1.
  package var depthMax: Int
  /// Values of any kind. A value of three bytes can cost two hundred in memory.
  package var valueCountMax: Int

  package init(byteCountMax: Int = 1 << 20, depthMax: Int = 64, valueCountMax: Int = 1 << 17) {
    self.byteCountMax = byteCountMax
    self.depthMax = depthMax
    self.valueCountMax = valueCountMax
  }

  package static let standard = JSONLimits()

  /// Counts brackets and commas outside strings; grammar is left to the parser, but for one thing:
  /// jansson 2.14 takes a null byte after the document for its end.
  func check(_ bytes: [UInt8]) throws(JSONError) {
    guard bytes.count <= byteCountMax else {
      throw JSONError(code: .tooLarge, message: "more than \(byteCountMax) bytes")
    }
    var depth = 0
    var values = 1
    var isInString = false
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""): isInString.toggle()
      case UInt8(ascii: "\\") where isInString: index += 1
      case UInt8(ascii: "[") where !isInString, UInt8(ascii: "{") where !isInString:
        depth += 1
        values += 1
        guard depth <= depthMax else {
          throw JSONError(
            code: .tooDeep, message: "more than \(depthMax) levels at byte \(index)")
        }
      case UInt8(ascii: "]") where !isInString, UInt8(ascii: "}") where !isInString: depth -= 1
      case UInt8(ascii: ",") where !isInString: values += 1
      case 0: throw JSONError(code: .nullCharacter, message: "a null byte at byte \(index)")
      default: break
      }
      index += 1
    }
    guard values <= valueCountMax else {
      throw JSONError(code: .tooLarge, message: "more than \(valueCountMax) values")
    }
  }
}
