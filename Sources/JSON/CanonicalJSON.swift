extension JSONValue {
  /// The largest integer that every reader of canonical JSON takes exactly, 2^53 - 1.
  package static let canonicalIntegerMax: Int64 = 9_007_199_254_740_991

  /// The unique UTF-8 text of this value by RFC 8785 (JCS), for signatures.
  ///
  /// Names within one object must differ, and integers lie within ±`canonicalIntegerMax`: beyond it readers differ.
  package func canonical() -> [UInt8] {
    var text: [UInt8] = []
    appendCanonical(to: &text)
    return text
  }

  private func appendCanonical(to text: inout [UInt8]) {
    switch self {
    case .null: text += "null".utf8
    case .bool(let value): text += (value ? "true" : "false").utf8
    case .integer(let value):
      precondition(
        value.magnitude <= Self.canonicalIntegerMax.magnitude, "no exact canonical form: \(value)")
      text += value.description.utf8
    case .string(let value): Self.appendCanonical(value, to: &text)
    case .array(let values):
      text.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        value.appendCanonical(to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .object(let members):
      text.append(UInt8(ascii: "{"))
      // RFC 8785, 3.2.3: by UTF-16 code units, whose order differs from that of UTF-8 beyond U+FFFF.
      let sorted = members.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
      for (index, member) in sorted.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        Self.appendCanonical(member.name, to: &text)
        text.append(UInt8(ascii: ":"))
        member.value.appendCanonical(to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  /// RFC 8785, 3.2.2.2: a two-character escape if there is one, `\u00xx` in lower case for other control characters.
  private static func appendCanonical(_ value: String, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\""): text += #"\""#.utf8
      case UInt8(ascii: "\\"): text += #"\\"#.utf8
      case 0x08: text += #"\b"#.utf8
      case 0x09: text += #"\t"#.utf8
      case 0x0A: text += #"\n"#.utf8
      case 0x0C: text += #"\f"#.utf8
      case 0x0D: text += #"\r"#.utf8
      case ..<0x20:
        text += (byte < 0x10 ? #"\u000"# : #"\u00"#).utf8
        text += String(byte, radix: 16).utf8
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}
