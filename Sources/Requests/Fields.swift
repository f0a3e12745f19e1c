package import Base
package import JSON

/// Typed members of a request body. A refusal names the member and the rule it breaks.
extension JSON {
  /// Parses a body, and refuses anything other than one JSON object.
  package static func body(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(RequestRefusal) -> JSON {
    let json: JSON
    do { json = try JSON.parse(bytes, limits: limits) } catch {
      throw .bodyInvalid(path: error.path, rule: error.message)
    }
    guard json.isObject else { throw .bodyInvalid(path: "$", rule: "must be an object") }
    return json
  }

  package func identifier() throws(RequestRefusal) -> Identifier {
    guard let text = string, let id = Identifier(text) else {
      throw .bodyInvalid(path: path, rule: "must be a UUID")
    }
    return id
  }

  package func base64(byteCount: ClosedRange<Int>) throws(RequestRefusal) -> [UInt8] {
    guard let text = utf8, let bytes = Base64.standard.decode(text) else {
      throw .bodyInvalid(path: path, rule: "must be base64")
    }
    guard byteCount.contains(bytes.count) else {
      let range =
        byteCount.count == 1
        ? "\(byteCount.lowerBound)" : "\(byteCount.lowerBound) to \(byteCount.upperBound)"
      throw .bodyInvalid(path: path, rule: "must hold \(range) bytes")
    }
    return bytes
  }

  package func boolean() throws(RequestRefusal) -> Bool {
    guard let value = bool else { throw .bodyInvalid(path: path, rule: "must be true or false") }
    return value
  }

  /// One word of a closed set.
  package func oneOf<Word: RawRepresentable & CaseIterable>(
    _: Word.Type
  ) throws(RequestRefusal) -> Word where Word.RawValue == String {
    guard let text = string, let word = Word(rawValue: text) else {
      let words = Word.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw .bodyInvalid(path: path, rule: "must be one of \(words)")
    }
    return word
  }

  /// Empty if the member is absent.
  package func optionalArray() throws(RequestRefusal) -> [JSON] {
    guard exists else { return [] }
    guard let values = array else { throw .bodyInvalid(path: path, rule: "must be an array") }
    return values
  }

  /// Refuses unknown members, because a signature would cover data that no one reads.
  package func requireMembers(_ known: [String]) throws(RequestRefusal) {
    guard let members else { throw .bodyInvalid(path: path, rule: "must be an object") }
    for (name, value) in members where !known.contains(name) {
      throw .bodyInvalid(path: value.path, rule: "is not a member known here")
    }
  }

  /// Nil if the member is absent or null.
  package func optionalText(characterCountMax: Int) throws(RequestRefusal) -> String? {
    guard exists, !isNull else { return nil }
    // Counted as in JSON Schema, and limited: one letter may carry any number of accents.
    guard let text = string, text.unicodeScalars.count <= characterCountMax else {
      throw .bodyInvalid(
        path: path, rule: "must be text of at most \(characterCountMax) characters")
    }
    return text
  }
}

extension JSONValue {
  /// Standard base64, or null.
  package static func base64(_ bytes: [UInt8]?) -> JSONValue {
    bytes.map { .string(Base64.standard.encode($0)) } ?? .null
  }
}

/// The fields of a query in their order; a name without a value has an empty one. Nothing is
/// percent-decoded, because no known value needs it.
package func queryFields(_ query: Substring?) -> [(name: Substring, value: String)] {
  (query ?? "").split(separator: "&").map { pair in
    let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    return (parts[0], parts.count == 2 ? String(parts[1]) : "")
  }
}

/// How many rows a page shall have, as `limit` in a query says.
package func pageLimit(_ text: String, max: Int) throws(RequestRefusal) -> Int {
  guard let count = Int(text), 1...max ~= count else { throw .limitInvalid(max: max) }
  return count
}
