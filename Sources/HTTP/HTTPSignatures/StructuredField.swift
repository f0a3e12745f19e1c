import Base

/// The values that structured header fields are made of (RFC 8941, section 3).
package enum StructuredField {
  package enum BareItem: Sendable, Equatable {
    /// At most 15 digits.
    case integer(Int64)
    /// At most 12 digits before the point and 3 after it, in thousandths.
    case decimal(thousandths: Int64)
    case string(String)
    case token(String)
    case bytes([UInt8])
    case boolean(Bool)

    package var string: String? { if case .string(let text) = self { text } else { nil } }
    package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    package var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
  }

  package struct Parameter: Sendable, Equatable {
    package let name: String
    package let value: BareItem

    package init(_ name: String, _ value: BareItem) {
      self.name = name
      self.value = value
    }
  }

  package struct Item: Sendable, Equatable {
    package let value: BareItem
    package let parameters: [Parameter]

    package init(_ value: BareItem, _ parameters: [Parameter] = []) {
      self.value = value
      self.parameters = parameters
    }
  }

  package struct InnerList: Sendable, Equatable {
    package let items: [Item]
    package let parameters: [Parameter]

    package init(_ items: [Item], _ parameters: [Parameter] = []) {
      self.items = items
      self.parameters = parameters
    }
  }

  package enum Member: Sendable, Equatable {
    case item(Item)
    case innerList(InnerList)
  }

  package struct Entry: Sendable, Equatable {
    package let name: String
    package let member: Member

    package init(_ name: String, _ member: Member) {
      self.name = name
      self.member = member
    }
  }

  /// The type that a field's definition gives it; the text alone does not show it.
  package enum Kind: Sendable { case item, list, dictionary }
}

/// Serialization in the one form that section 4.1 defines for each value.
extension StructuredField.BareItem {
  func append(to text: inout [UInt8]) {
    switch self {
    case .integer(let number): text += String(number).utf8
    case .decimal(let thousandths): text += Self.decimalText(thousandths).utf8
    case .string(let string):
      text.append(UInt8(ascii: "\""))
      for byte in string.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
          text.append(UInt8(ascii: "\\"))
        }
        text.append(byte)
      }
      text.append(UInt8(ascii: "\""))
    case .token(let token): text += token.utf8
    case .bytes(let bytes):
      text.append(UInt8(ascii: ":"))
      text += Base64.standard.encode(bytes).utf8
      text.append(UInt8(ascii: ":"))
    case .boolean(let isTrue):
      text.append(UInt8(ascii: "?"))
      text.append(UInt8(ascii: isTrue ? "1" : "0"))
    }
  }

  /// At least one digit after the point, and no redundant ones.
  private static func decimalText(_ thousandths: Int64) -> String {
    let magnitude = thousandths.magnitude
    var fraction = String(magnitude % 1000 + 1000).dropFirst()
    while fraction.count > 1, fraction.last == "0" { fraction.removeLast() }
    return (thousandths < 0 ? "-" : "") + "\(magnitude / 1000).\(fraction)"
  }
}

extension [StructuredField.Parameter] {
  func append(to text: inout [UInt8]) {
    for parameter in self {
      text.append(UInt8(ascii: ";"))
      text += parameter.name.utf8
      if parameter.value == .boolean(true) { continue }
      text.append(UInt8(ascii: "="))
      parameter.value.append(to: &text)
    }
  }
}

extension StructuredField.Item {
  package func append(to text: inout [UInt8]) {
    value.append(to: &text)
    parameters.append(to: &text)
  }
}

extension StructuredField.InnerList {
  package func append(to text: inout [UInt8]) {
    text.append(UInt8(ascii: "("))
    for (index, item) in items.enumerated() {
      if index > 0 { text.append(UInt8(ascii: " ")) }
      item.append(to: &text)
    }
    text.append(UInt8(ascii: ")"))
    parameters.append(to: &text)
  }
}

extension StructuredField.Member {
  package func append(to text: inout [UInt8]) {
    switch self {
    case .item(let item): item.append(to: &text)
    case .innerList(let list): list.append(to: &text)
    }
  }
}

extension StructuredField {
  package static func serialize(list members: [Member]) -> [UInt8] {
    var text: [UInt8] = []
    for (index, member) in members.enumerated() {
      if index > 0 { text += ", ".utf8 }
      member.append(to: &text)
    }
    return text
  }

  package static func serialize(dictionary entries: [Entry]) -> [UInt8] {
    var text: [UInt8] = []
    for (index, entry) in entries.enumerated() {
      if index > 0 { text += ", ".utf8 }
      text += entry.name.utf8
      if case .item(let item) = entry.member, item.value == .boolean(true) {
        item.parameters.append(to: &text)
      } else {
        text.append(UInt8(ascii: "="))
        entry.member.append(to: &text)
      }
    }
    return text
  }
}
