internal import Base
internal import CommandLine
internal import Configuration
internal import HTTPClient
internal import HTTPMessages
internal import HTTPServer
internal import JSON

/// One request to a running program and its answer.
struct Exchange {
  let status: Int
  let headers: Headers
  let body: [UInt8]

  private static let timeout: Instant.Span = .seconds(60)
  private static let bodyByteCountMax = 1 << 30

  init(
    method: String, url: String, headers: [(String, String)], body: [UInt8]?
  ) throws {
    let reply = try HTTPClient(bodyByteCountMax: Self.bodyByteCountMax).send(
      method, url, headers: headers, body: body, timeout: Self.timeout)
    status = reply.status
    self.headers = reply.headers
    self.body = reply.body
  }

  /// The URL of a program's API at its listening address; "every address" becomes loopback.
  static func baseURL(_ listen: SocketAddress) -> String {
    switch listen.host {
    case "0.0.0.0": "http://127.0.0.1:\(listen.port)"
    case "::": "http://[::1]:\(listen.port)"
    default: "http://\(listen)"
    }
  }

  /// The body on stdout, for the next program, and the status on stderr. The code is 1 if the
  /// request was refused.
  var answer: Answer { answer(text: text) }

  func answer(text: String) -> Answer {
    Answer(code: code, text: text, json: json, notice: "HTTP \(status)")
  }

  /// Text bodies end with a line feed.
  private var text: String {
    guard !body.isEmpty else { return "" }
    guard let text = String(validating: body, as: UTF8.self) else {
      return "<\(body.count) bytes of binary data>\n"
    }
    return text.hasSuffix("\n") ? text : text + "\n"
  }

  static let shape: JSONShape = [
    "status": .integer, "headers": .list(.list(.text)), "body": .orNull(.text),
    "body_base64": .text,
  ]

  var json: JSONValue {
    [
      "status": .integer(Int64(status)),
      "headers": .array(
        headers.fields.map { field in
          [.string(field.name), .string(String(decoding: field.value, as: UTF8.self))]
        }),
      "body": String(validating: body, as: UTF8.self).map { .string($0) } ?? .null,
      "body_base64": .string(Base64.standard.encode(body)),
    ]
  }

  /// Whether the program accepted the request.
  var code: ExitCode { 200...399 ~= status ? .ok : .refused }
}
