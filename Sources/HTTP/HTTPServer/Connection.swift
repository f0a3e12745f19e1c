import Base
import CMicrohttpd
import Glibc
import HTTPMessages

/// A connection as libmicrohttpd knows it. Valid until its NOTIFY_CLOSED.
///
/// Only the connection's worker may call methods other than `resume`, and only during a callback.
@safe
struct Connection: @unchecked Sendable {
  private let handle: OpaquePointer
  private let intake: Intake

  init(_ handle: OpaquePointer, of intake: Intake) {
    unsafe self.handle = handle
    self.intake = intake
  }

  /// After this call libmicrohttpd leaves the connection alone until `resume`.
  func suspend() { unsafe MHD_suspend_connection(handle) }

  /// Called from any thread, exactly once for each `suspend`.
  func resume() {
    unsafe MHD_resume_connection(handle)
    intake.ring()
  }

  /// The socket, which stays open until NOTIFY_CLOSED has returned.
  var descriptor: Int32 {
    unsafe coffer_mhd_info(handle, .CONNECTION_INFO_CONNECTION_FD).pointee.connect_fd
  }

  var clientAddress: String {
    let info = unsafe coffer_mhd_info(handle, .CONNECTION_INFO_CLIENT_ADDRESS)
    guard let name = unsafe info?.pointee.client_addr else { return "unknown" }
    var storage = sockaddr_storage()
    let byteCount =
      unsafe Int32(name.pointee.sa_family) == AF_INET6
      ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
    unsafe withUnsafeMutableBytes(of: &storage) { bytes in
      unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(start: name, count: byteCount))
    }
    return addressText(&storage)
  }

  /// The size of request line and header section, once they are complete.
  var headByteCount: Int {
    let info = unsafe coffer_mhd_info(handle, .CONNECTION_INFO_REQUEST_HEADER_SIZE)
    return unsafe info?.pointee.header_size ?? 0
  }

  var headerCount: Int {
    unsafe Int(MHD_get_connection_values(handle, .HEADER_KIND, nil, nil))
  }

  /// Queues a response; false if libmicrohttpd cannot accept it and the connection must close.
  func answer(
    _ response: Response, to peer: Peer, requestID: String, closes: Bool,
    mayGrow: @escaping BlockReader.Growth
  ) -> Bool {
    guard let message = unsafe makeOwnedMessage(response.body, to: peer, mayGrow) else {
      return false
    }
    defer { unsafe MHD_destroy_response(message) }
    for (name, value) in response.headers where !value.isEmpty {
      if unsafe MHD_add_response_header(message, name, value) == .NO {
        Log.error("http.header_refused", ["request": requestID, "name": name])
      }
    }
    unsafe MHD_add_response_header(message, "X-Request-Id", requestID)
    if closes { unsafe MHD_add_response_header(message, "Connection", "close") }
    return unsafe MHD_queue_response(handle, UInt32(response.status), message) == .YES
  }

  private func makeOwnedMessage(
    _ body: Response.Body, to peer: Peer, _ mayGrow: @escaping BlockReader.Growth
  ) -> OpaquePointer? {
    switch body {
    case .inherited: return nil
    case .bytes(let bytes):
      return unsafe bytes.withUnsafeBytes { buffer in
        unsafe MHD_create_response_from_buffer(
          buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .file(_, let range) where range.isEmpty, .blocks(_, let range) where range.isEmpty:
      return unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    case .unsent(let byteCount):
      // Never read: libmicrohttpd sends no body after the head of a 304.
      return unsafe MHD_create_response_from_callback(
        UInt64(byteCount), 1, { _, _, _, _ in -2 }, nil, nil)
    case .file(let file, let range):
      // libmicrohttpd closes the descriptor that it is given, but the file may be shared.
      let copy = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return nil }
      let message = unsafe MHD_create_response_from_fd_at_offset64(
        UInt64(range.upperBound - range.lowerBound), copy, UInt64(range.lowerBound))
      if unsafe message == nil { close(copy) }
      return unsafe message
    case .blocks(let source, let range):
      return unsafe BlockReader(source, range, to: self, peer, mayGrow: mayGrow)
        .makeOwnedMessage()
    }
  }
}
