package import Base
package import JSON

/// The shape of a command's JSON. `coffer schema` prints it, and test builds check every answer against it.
package indirect enum JSONShape: Sendable {
  case text, integer, bool
  /// RFC 3339 in UTC.
  case time
  case list(JSONShape)
  case object([Member])
  /// Null if there is no value.
  case orNull(JSONShape)
  case oneOf([JSONShape])
  /// Any JSON, made by someone else.
  case anything

  package struct Member: Sendable {
    package let name: String
    package let shape: JSONShape
    package let isOptional: Bool

    package init(_ name: String, _ shape: JSONShape, isOptional: Bool = false) {
      self.name = name
      self.shape = shape
      self.isOptional = isOptional
    }
  }

  /// Rises when a member is removed or changes its meaning, not when one is added.
  package static let version = 1

  /// The object with more members.
  package func adding(_ more: [Member]) -> JSONShape {
    guard case .object(let members) = self else { preconditionFailure("only objects have members") }
    return .object(members + more)
  }

  /// The path at which a value does not have this shape, e.g. `devices[0].added`; nil if it has.
  package func misfit(_ value: JSONValue, at path: String = "") -> String? {
    switch (self, value) {
    case (.anything, _), (.text, .string), (.integer, .integer), (.bool, .bool),
      (.orNull, .null):
      return nil
    case (.time, .string(let text)):
      return Instant(rfc3339: text) == nil ? path : nil
    case (.orNull(let shape), _):
      return shape.misfit(value, at: path)
    case (.oneOf(let shapes), _):
      return shapes.contains { $0.misfit(value) == nil } ? nil : path
    case (.list(let shape), .array(let values)):
      for (index, value) in values.enumerated() {
        if let misfit = shape.misfit(value, at: "\(path)[\(index)]") { return misfit }
      }
      return nil
    case (.object(let members), .object(let values)):
      return Self.misfit(members, values, path)
    case (.text, _), (.integer, _), (.bool, _), (.time, _), (.list, _), (.object, _):
      return path.isEmpty ? "the whole" : path
    }
  }

  private static func misfit(
    _ members: [Member], _ values: [JSONValue.Member], _ path: String
  ) -> String? {
    for value in values where !members.contains(where: { $0.name == value.name }) {
      return "\(path).\(value.name)"
    }
    for member in members {
      let path = "\(path).\(member.name)"
      guard let value = values.first(where: { $0.name == member.name }) else {
        if member.isOptional { continue }
        return path
      }
      if let misfit = member.shape.misfit(value.value, at: path) { return misfit }
    }
    return nil
  }

  /// The shape as JSON Schema 2020-12.
  package var schema: JSONValue {
    switch self {
    case .text: ["type": "string"]
    case .integer: ["type": "integer"]
    case .bool: ["type": "boolean"]
    case .time: ["type": "string", "format": "date-time"]
    case .list(let shape): ["type": "array", "items": shape.schema]
    case .orNull(let shape): ["anyOf": [shape.schema, ["type": "null"]]]
    case .oneOf(let shapes): ["anyOf": .array(shapes.map(\.schema))]
    case .anything: true
    case .object(let members):
      [
        "type": "object",
        "properties": .object(members.map { .init($0.name, $0.shape.schema) }),
        "required": .array(members.filter { !$0.isOptional }.map { .string($0.name) }),
      ]
    }
  }
}

extension CommandTable {
  /// The JSON Schema of every command's JSON, each under its name.
  package var schema: JSONValue {
    [
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "$id": .string("urn:\(name):commands:\(JSONShape.version)"),
      "title": .string("\(name) --json, version \(JSONShape.version)"),
      "$defs": .object(all.map { .init($0.name, $0.answers.schema) }),
    ]
  }
}

extension JSONValue {
  /// RFC 3339, or null at either end of time.
  package static func moment(_ instant: Instant) -> JSONValue {
    instant == .distantPast || instant == .distantFuture ? .null : .string(instant.description)
  }
}

extension JSONShape: ExpressibleByDictionaryLiteral {
  /// An object with all of these members.
  package init(dictionaryLiteral members: (String, JSONShape)...) {
    self = .object(members.map { Member($0, $1) })
  }
}
