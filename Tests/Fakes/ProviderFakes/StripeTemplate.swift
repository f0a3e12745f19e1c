import JSON

/// The shape of one kind of object in every API version, to be filled with values.
///
/// It is written as JSON. A member named `"tax <2025-03-31"` exists in versions before that date, and one
/// named `"taxes >=2025-03-31"` from that date on. The text `"$name"` stands for a value.
struct StripeTemplate: Sendable {
  private let shapes: [StripeVersion: JSONValue]

  init(_ text: String) {
    guard let json = try? JSON.parse(Array(text.utf8)) else {
      preconditionFailure("a template is no JSON: \(text.prefix(60))")
    }
    shapes = Dictionary(
      uniqueKeysWithValues: StripeVersion.allCases.map { ($0, Self.shape(json, in: $0)) })
  }

  /// The object in the form of `version`; traps if a required value is missing.
  func filled(_ version: StripeVersion, _ values: [String: JSONValue]) -> JSONValue {
    Self.fill(shapes[version] ?? .null, values)
  }

  private static func fill(_ shape: JSONValue, _ values: [String: JSONValue]) -> JSONValue {
    switch shape {
    case .string(let text) where text.hasPrefix("$"):
      guard let value = values[String(text.dropFirst())] else {
        preconditionFailure("the template needs a value for \(text)")
      }
      return value
    case .array(let elements): return .array(elements.map { fill($0, values) })
    case .object(let members):
      return .object(members.map { .init($0.name, fill($0.value, values)) })
    case .null, .bool, .integer, .string: return shape
    }
  }

  private static func shape(_ json: JSON, in version: StripeVersion) -> JSONValue {
    if let members = json.members {
      let present = members.compactMap { name, value -> JSONValue.Member? in
        let words = name.split(separator: " ")
        guard words.dropFirst().allSatisfy({ holds($0, in: version) }) else { return nil }
        return .init(String(words[0]), shape(value, in: version))
      }
      return .object(present)
    }
    if let elements = json.array { return .array(elements.map { shape($0, in: version) }) }
    return scalar(json)
  }

  private static func scalar(_ json: JSON) -> JSONValue {
    if let text = json.string { return .string(text) }
    if let number = json.integer { return .integer(number) }
    if let flag = json.bool { return .bool(flag) }
    return .null
  }

  private static func holds(_ condition: Substring, in version: StripeVersion) -> Bool {
    condition.hasPrefix(">=")
      ? version.date >= condition.dropFirst(2) : version.date < condition.dropFirst(1)
  }
}

extension JSONValue {
  /// Indented by two, text as UTF-8, no line end: the layout of Stripe's bodies.
  func indented() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 * 1024)
    write(to: &bytes, depth: 0)
    return bytes
  }

  private func write(to bytes: inout [UInt8], depth: Int) {
    switch self {
    case .array(let elements) where !elements.isEmpty:
      Self.write(elements, "[", "]", to: &bytes, depth) { $0.write(to: &$1, depth: depth + 1) }
    case .object(let members) where !members.isEmpty:
      Self.write(members, "{", "}", to: &bytes, depth) { member, bytes in
        bytes += JSONValue.string(member.name).encoded() + [UInt8(ascii: ":"), UInt8(ascii: " ")]
        member.value.write(to: &bytes, depth: depth + 1)
      }
    case .null, .bool, .integer, .string, .array, .object: bytes += encoded()
    }
  }

  /// With arrays alone: without optimization, anything else is appended byte by byte.
  private static func write<Part>(
    _ parts: [Part], _ open: Unicode.Scalar, _ close: Unicode.Scalar, to bytes: inout [UInt8],
    _ depth: Int, _ body: (Part, inout [UInt8]) -> Void
  ) {
    bytes.append(UInt8(ascii: open))
    for (index, part) in parts.enumerated() {
      bytes += (index == 0 ? [] : [UInt8(ascii: ",")]) + margin(depth + 1)
      body(part, &bytes)
    }
    bytes += margin(depth) + [UInt8(ascii: close)]
  }

  private static func margin(_ depth: Int) -> [UInt8] {
    [UInt8(ascii: "\n")] + [UInt8](repeating: UInt8(ascii: " "), count: 2 * depth)
  }

  subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The value of `previous_attributes`: the members that differ in `after`, with their values here.
  ///
  /// Objects are compared member by member, arrays as wholes.
  func changed(in after: JSONValue) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(
      members.compactMap { member in
        guard let other = after[member.name], other != member.value else { return nil }
        return .init(member.name, member.value.changed(in: other))
      })
  }

  static func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
}
