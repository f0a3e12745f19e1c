import Base
import JSON

/// A signed or encoded part of a body, for people: the App Store signs parts within parts, and Google pushes base64.
package struct UnfoldedPart {
  /// Its place, e.g. `$.signedPayload.data.signedTransactionInfo`.
  package let path: String
  /// Its JSON, one line for each value.
  package let text: String

  package static func all(in body: [UInt8]) -> [UnfoldedPart] {
    if let json = try? JSON.parse(body) { return parts(in: json, at: "$") }
    return unfolded(String(decoding: body, as: UTF8.self)).map { parts(of: $0, at: "$") } ?? []
  }

  private static func parts(of json: JSON, at path: String) -> [UnfoldedPart] {
    [UnfoldedPart(path: path, text: lines(json, indent: ""))] + parts(in: json, at: path)
  }

  private static func parts(in json: JSON, at path: String) -> [UnfoldedPart] {
    if let members = json.members {
      return members.flatMap { parts(in: $0.value, at: "\(path).\($0.name)") }
    }
    if let elements = json.array {
      return elements.enumerated().flatMap { parts(in: $0.element, at: "\(path)[\($0.offset)]") }
    }
    return json.string.flatMap(unfolded).map { parts(of: $0, at: path) } ?? []
  }

  private static func unfolded(_ text: String) -> JSON? {
    let bytes = Array(text.utf8)
    guard let content = (try? JWSSegments(bytes))?.payload ?? Base64.standard.decode(text),
      let json = try? JSON.parse(content), json.isObject
    else { return nil }
    return json
  }

  private static func lines(_ json: JSON, indent: String) -> String {
    let deeper = indent + "  "
    if let members = json.members {
      let values = members.map { name, value in
        deeper + "\(scalar(.string(name))): " + lines(value, indent: deeper)
      }
      return "{\n" + values.joined(separator: ",\n") + "\n\(indent)}"
    }
    if let elements = json.array {
      let values = elements.map { deeper + lines($0, indent: deeper) }
      return "[\n" + values.joined(separator: ",\n") + "\n\(indent)]"
    }
    if let string = json.string, unfolded(string) != nil { return "(below)" }
    return JSONValue(json).map(scalar) ?? "(a fraction)"
  }

  private static func scalar(_ value: JSONValue) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }
}
