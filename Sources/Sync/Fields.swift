internal import Base
internal import JSON

/// Typed members of a request body; a refusal names the member and the rule it breaks.
extension JSON {
  /// Parses a body, refusing whatever is not one JSON object.
  static func body(_ bytes: [UInt8]) throws(Refusal) -> JSON {
    let json: JSON
    do { json = try JSON.parse(bytes) } catch {
      throw .bodyInvalid(path: error.path, rule: error.message)
    }
    guard json.isObject else { throw .bodyInvalid(path: "$", rule: "must be an object") }
    return json
  }

  func identifier() throws(Refusal) -> Identifier {
    guard let text = string, let id = Identifier(text) else {
      throw .bodyInvalid(path: path, rule: "must be a UUID")
    }
    return id
  }

  func base64(byteCount: ClosedRange<Int>) throws(Refusal) -> [UInt8] {
    guard let text = string, let bytes = Base64.standard.decode(text) else {
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

  /// Nil where the member is absent or null.
  func optionalText(characterCountMax: Int) throws(Refusal) -> String? {
    guard exists, !isNull else { return nil }
    guard let text = string, text.count <= characterCountMax else {
      throw .bodyInvalid(
        path: path, rule: "must be text of at most \(characterCountMax) characters")
    }
    return text
  }
}
