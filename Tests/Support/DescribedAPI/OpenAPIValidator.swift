package import JSON
import TestEngines
import TestFiles
import Testing

/// Checks requests and their answers against the description of an API, with PyPI's jsonschema and
/// openapi-spec-validator.
package enum OpenAPIValidator {
  /// The complaints about the description or the exchanges; empty if there are none. Needs `Shell.python`.
  package static func complaints(
    about description: [UInt8], _ exchanges: [JSONValue]
  ) throws -> [Substring] {
    let python = try #require(Shell.python)
    let directory = try ScratchDirectory()
    let (document, list) = ("\(directory.path)/d.json", "\(directory.path)/e.json")
    try Files.write(description, to: document)
    try Files.write(JSONValue.array(exchanges).encoded(), to: list)
    let script = "\(Files.repository)/ops/interop/openapi_judge.py"
    let (output, status) = Shell.run("'\(python)' '\(script)' \(document) \(list) 2>&1")
    let lines = output.split(separator: "\n")
    return status == 0 ? [] : lines.isEmpty ? ["status \(status)"] : lines
  }

  /// A request and its answer as the validator reads them. Bodies that are not JSON are only counted.
  package static func exchange(
    _ method: String, _ target: String, requestHeaders: [(String, String)] = [],
    requestBody: [UInt8] = [], status: Int, headers: [(String, String)], body: [UInt8]
  ) -> JSONValue {
    [
      "method": .string(method), "target": .string(target),
      "request_headers": pairs(requestHeaders),
      "request_byte_count": .integer(Int64(requestBody.count)),
      "request_body": value(requestBody), "status": .integer(Int64(status)),
      "headers": pairs(headers), "byte_count": .integer(Int64(body.count)), "body": value(body),
    ]
  }

  private static func pairs(_ fields: [(String, String)]) -> JSONValue {
    .array(fields.map { [.string($0.0), .string($0.1)] })
  }

  private static func value(_ bytes: [UInt8]) -> JSONValue {
    (try? JSON.parse(bytes)).flatMap { JSONValue($0) } ?? .null
  }
}
