import CJansson
import Glibc

/// A JSON text to be written, built as a literal, with its members in the order given.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case string(String)
  case array([JSONValue])
  case object([Member])

  package struct Member: Sendable, Equatable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// Takes a parsed value to be written again; nil if it is missing or holds a fraction or an exponent.
  package init?(_ json: JSON) {
    if json.isNull {
      self = .null
    } else if let value = json.bool {
      self = .bool(value)
    } else if let value = json.string {
      self = .string(value)
    } else if let value = json.integer {
      self = .integer(value)
    } else if let elements = json.array {
      let values = elements.compactMap { JSONValue($0) }
      guard values.count == elements.count else { return nil }
      self = .array(values)
    } else if let parsed = json.members {
      let members = parsed.compactMap { name, json in JSONValue(json).map { Member(name, $0) } }
      guard members.count == parsed.count else { return nil }
      self = .object(members)
    } else {
      return nil
    }
  }

  /// The compact UTF-8 text, written by jansson.
  package func encoded() -> [UInt8] {
    let node = unsafe makeOwnedNode()
    defer { unsafe json_decref(node) }
    let flags = Int(JSON_COMPACT) | Int(JSON_ENCODE_ANY)
    guard let text = unsafe json_dumps(node, flags) else {
      preconditionFailure("jansson could not write a value: out of memory")
    }
    defer { unsafe free(text) }
    return unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  private func makeOwnedNode() -> UnsafeMutablePointer<json_t>? {
    switch self {
    case .null: return unsafe json_null()
    case .bool(let value): return unsafe value ? json_true() : json_false()
    case .integer(let value): return unsafe json_integer(value)
    case .string(let value):
      return unsafe json_stringn(value, value.utf8.count)
    case .array(let values):
      let node = unsafe json_array()
      for value in values { unsafe json_array_append_new(node, value.makeOwnedNode()) }
      return unsafe node
    case .object(let members):
      let node = unsafe json_object()
      for member in members {
        unsafe json_object_setn_new(
          node, member.name, member.name.utf8.count, member.value.makeOwnedNode())
      }
      return unsafe node
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
  package init(nilLiteral: ()) { self = .null }
}
