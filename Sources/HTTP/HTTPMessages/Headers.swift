/// The header section of a request or a response, as received: names in lower case, values as bytes, in order.
///
/// Values are bytes because HTTP guarantees nothing else; `text` reads those that are ASCII.
package struct Headers: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package let name: String
    package let value: [UInt8]
  }

  package private(set) var fields: [Field] = []

  package init() {}

  package init(_ fields: [(String, String)]) {
    for (name, value) in fields { append(name, Array(value.utf8)) }
  }

  package mutating func append(_ name: String, _ value: [UInt8]) {
    append(lowercaseName: name.lowercased(), value)
  }

  /// Adds a field whose name is in lower case already.
  package mutating func append(lowercaseName name: String, _ value: [UInt8]) {
    fields.append(Field(name: name, value: value))
  }

  /// Every value of one name, in the order received. `name` is in lower case.
  package func all(_ name: String) -> [[UInt8]] {
    fields.filter { $0.name == name }.map(\.value)
  }

  /// The values of one name joined by ", " (RFC 9110, section 5.3); nil if the name is absent.
  package func combined(_ name: String) -> [UInt8]? {
    let values = all(name)
    guard values.count > 1 else { return values.first }
    return Array(values.joined(separator: Array(", ".utf8)))
  }

  /// The combined value if it is printable ASCII; nil if it is absent or anything else.
  package func text(_ name: String) -> String? {
    guard let value = combined(name), value.allSatisfy({ 0x20...0x7E ~= $0 || $0 == 0x09 }) else {
      return nil
    }
    return String(decoding: value, as: UTF8.self)
  }
}
