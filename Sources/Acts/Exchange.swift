import Base
package import CommandLine
package import Configuration
package import HTTPClient
import HTTPMessages
package import HTTPServer
import JSON

/// One request to a running program and its answer.
package struct Exchange {
  package let status: Int
  private let headers: Headers
  package let body: [UInt8]

  private static let timeout: Instant.Span = .seconds(60)
  private static let bodyByteCountMax = 1 << 30

  package init(
    method: String, url: String, headers: [(String, String)], body: [UInt8]?
  ) throws(HTTPClientError) {
    let reply = try HTTPClient(bodyByteCountMax: Self.bodyByteCountMax).send(
      method, url, headers: headers, body: body, timeout: Self.timeout)
    status = reply.status
    self.headers = reply.headers
    self.body = reply.body
  }

  /// Sends a GET. If events answer it, `take` gets them as they arrive, until it returns false.
  package init(
    following url: String, headers: [(String, String)], _ take: @escaping ([UInt8]) -> Bool
  ) throws(HTTPClientError) {
    let reply = try HTTPClient(bodyByteCountMax: Self.bodyByteCountMax).follow(
      url, headers: headers, timeout: Self.timeout, take)
    status = reply.status
    self.headers = reply.headers
    body = reply.body
  }

  /// A header of the answer, by its name in lower case.
  package func header(_ name: String) -> String? { headers.text(name) }

  /// The URL of a program's API at its listening address; "every address" becomes loopback.
  package static func baseURL(_ listen: SocketAddress) -> String {
    switch listen.host {
    case "0.0.0.0": "http://127.0.0.1:\(listen.port)"
    case "::": "http://[::1]:\(listen.port)"
    default: "http://\(listen)"
    }
  }

  /// The body on stdout, for the next program, and the status on stderr. The code is 1 if the
  /// request was refused.
  /// `shown` is printed in place of the body.
  package func answer(showing shown: String? = nil) -> Answer {
    Answer(code: code, text: shown ?? text, json: Self.listing.json(self), notice: "HTTP \(status)")
  }

  /// Text bodies end with a line feed.
  private var text: String {
    guard !body.isEmpty else { return "" }
    guard let text = String(validating: body, as: UTF8.self) else {
      return "<\(body.count) bytes of binary data>\n"
    }
    return text.hasSuffix("\n") ? text : text + "\n"
  }

  package static var listing: Listing<Exchange> {
    Listing([
      .integer("status") { Int64($0.status) },
      Column(
        "headers", .list(.list(.text)),
        json: { exchange in
          .array(
            exchange.headers.fields.map { field in
              [.string(field.name), .string(String(decoding: field.value, as: UTF8.self))]
            })
        }), .optionalText("body") { String(validating: $0.body, as: UTF8.self) },
      .text("body_base64") { Base64.standard.encode($0.body) },
    ])
  }

  /// Whether the program accepted the request.
  package var code: ExitCode { 200...399 ~= status ? .ok : .refused }
}
