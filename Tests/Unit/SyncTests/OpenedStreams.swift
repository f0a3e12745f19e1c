import RawClient
import TestDevices
import Testing

extension RawStream {
  static let target = "/v1/updates/stream"

  /// Sends a request to a server. Throws if there is no answer.
  static func connect(_ server: TestServer, _ request: TestDevice.Signed) throws -> RawStream {
    try #require(
      RawStream(
        connectingTo: server.port, request.method, request.target, request.headers))
  }

  /// The device's stream, after its first event.
  static func open(_ device: TestDevice, _ server: TestServer) throws -> RawStream {
    let stream = try connect(server, device.sign("GET", target))
    try #require(stream.isOpened, "\(stream.head)")
    try #require(stream.next() == "{\"all\":true}")
    return stream
  }
}
