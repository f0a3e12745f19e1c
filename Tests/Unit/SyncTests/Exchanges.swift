import Base
import HTTPMessages
import JSON
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Requests and answers as sent over the wire, for a validator outside of this program.
final class Exchanges: Sendable {
  struct Exchange: Sendable {
    let request: TestDevice.Signed
    let answer: Answer

    var code: String? { (try? answer.problem) ?? nil }
  }

  private let recorded = Locked<[Exchange]>([])

  var all: [Exchange] { recorded.withLock { $0 } }

  func record(_ request: TestDevice.Signed, _ answer: Answer) {
    recorded.withLock { $0.append(Exchange(request: request, answer: answer)) }
  }

  /// The complaints of PyPI's jsonschema and openapi-spec-validator about the document or the exchanges;
  /// empty if there are none.
  func complaints(about document: [UInt8], python: String) throws -> [Substring] {
    let directory = try ScratchDirectory()
    let (description, exchanges) = ("\(directory.path)/d.json", "\(directory.path)/e.json")
    try Files.write(document, to: description)
    let json = JSONValue.array(all.map(\.json))
    try Files.write(json.encoded(), to: exchanges)
    let script = "\(Files.repository)/ops/interop/openapi_judge.py"
    let (output, status) = Shell.run("'\(python)' '\(script)' \(description) \(exchanges) 2>&1")
    let lines = output.split(separator: "\n")
    return status == 0 ? [] : lines.isEmpty ? ["status \(status)"] : lines
  }
}

extension Exchanges.Exchange {
  /// Bodies that are not JSON are only counted.
  fileprivate var json: JSONValue {
    [
      "method": .string(request.method), "target": .string(request.target),
      "request_headers": .array(request.headers.map { [.string($0.0), .string($0.1)] }),
      "request_byte_count": .integer(Int64(request.body.count)),
      "request_body": Self.value(request.body), "status": .integer(Int64(answer.status)),
      "headers": .array(
        answer.headers.fields.map { field in
          [.string(field.name), .string(String(decoding: field.value, as: UTF8.self))]
        }),
      "byte_count": .integer(Int64(answer.body.count)), "body": Self.value(answer.body),
    ]
  }

  private static func value(_ bytes: [UInt8]) -> JSONValue {
    (try? JSON.parse(bytes)).flatMap { JSONValue($0) } ?? .null
  }
}
