package import Base

/// One request to a provider's API. It may hold a key or a token, so it never describes itself.
package struct APIRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  package var method: String
  package var url: String
  package var headers: [(String, String)]
  package var body: [UInt8]?

  package init(
    _ method: String, _ url: String, headers: [(String, String)] = [], body: [UInt8]? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }

  /// A request that a key or a token authorizes, with JSON as body and answer.
  package init(
    _ method: String, _ url: String, by token: Secret, scheme: String = "Bearer", json: [UInt8]?
  ) {
    let text = String(decoding: token.exposed, as: UTF8.self)
    var headers = [("Authorization", "\(scheme) \(text)"), ("Accept", "application/json")]
    if json != nil { headers.append(("Content-Type", "application/json")) }
    self.init(method, url, headers: headers, body: json)
  }

  package var description: String { "<request>" }
  package var debugDescription: String { "<request>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
