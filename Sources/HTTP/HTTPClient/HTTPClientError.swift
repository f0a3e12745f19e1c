/// The reason why there is no reply. It never contains the URL, a header or a body, because they may hold secrets.
package enum HTTPClientError: Error, Equatable, CustomStringConvertible {
  case connect(String)
  case timeout
  case tls(String)
  /// The body or the header section is longer than the client accepts.
  case tooLarge
  /// The server ended the connection early or does not speak HTTP.
  case failed(String)
  /// Method, URL or a header is empty or holds a control character.
  case invalidRequest

  package var description: String {
    switch self {
    case .connect(let reason): "cannot connect: \(reason)"
    case .timeout: "no reply in time"
    case .tls(let reason): "no trusted connection: \(reason)"
    case .tooLarge: "the reply is larger than accepted"
    case .failed(let reason): "the exchange failed: \(reason)"
    case .invalidRequest: "the request holds a control character or an empty part"
    }
  }
}
