internal import Base
internal import CMicrohttpd
internal import Glibc
internal import HTTPMessages

/// A libmicrohttpd daemon: one thread with its own epoll set, fed with accepted sockets.
///
/// One daemon for each core rather than one with a thread pool: a pool must own the listening
/// socket, and then a full server makes clients hang, and `MHD_quiesce_daemon` on a busy pool can
/// abort the process (it takes the socket out of a worker's epoll set as the worker may do, too,
/// and calls the ENOENT that follows fatal; daemon.c of 0.9.75).
@safe
final class Worker: @unchecked Sendable {
  private let daemon: OpaquePointer

  /// Nil where the thread cannot be started. `core` must outlive `stop`.
  init?(core: ServerCore) {
    let limits = core.limits
    let daemon = unsafe coffer_mhd_start(
      { _, handle, _, method, version, part, partByteCount, exchange in
        unsafe proceed(handle, method, version, part, partByteCount, exchange)
      },
      { context, target, handle in unsafe begin(context, target, handle) },
      { _, handle, exchange, _ in unsafe end(handle, exchange) },
      { context, handle, peer, event in unsafe notify(context, handle, peer, event) },
      Unmanaged.passUnretained(core).toOpaque(), UInt32(clamping: limits.connectionCountMax),
      limits.poolByteCount)
    guard let daemon = unsafe daemon else { return nil }
    unsafe self.daemon = daemon
  }

  /// Hands over an accepted socket; libmicrohttpd closes it, even where it refuses it (false).
  func add(_ descriptor: Int32, from address: inout sockaddr_storage, _ byteCount: socklen_t)
    -> Bool
  {
    unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe MHD_add_connection(daemon, descriptor, pointer, byteCount) == .YES
      }
    }
  }

  /// Ends the thread. No connection may be suspended: libmicrohttpd would abort the process.
  func stop() { unsafe MHD_stop_daemon(daemon) }
}

// The callbacks run on the worker's thread. They live in functions without isolation: a closure
// written where an actor is current would trap there.

/// MHD_NotifyConnectionCallback: `slot` keeps the peer while the connection is open.
private func notify(
  _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ event: MHD_ConnectionNotificationCode
) {
  guard let context = unsafe context, let handle = unsafe handle, let slot = unsafe slot else {
    return
  }
  let core = unsafe Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
  switch event {
  case .CONNECTION_NOTIFY_STARTED:
    let connection = unsafe Connection(handle)
    let peer = Peer(
      descriptor: connection.descriptor, address: connection.clientAddress,
      deadline: .now() + core.limits.headSpan)
    unsafe slot.pointee = Unmanaged.passRetained(peer).toOpaque()
    core.peers.add(peer)
  case .CONNECTION_NOTIFY_CLOSED:
    guard let opaque = unsafe slot.pointee else { return }
    unsafe slot.pointee = nil
    core.peers.remove(unsafe Unmanaged<Peer>.fromOpaque(opaque).takeRetainedValue())
    core.metrics.connections.add(-1)
  @unknown default: break
  }
}

/// MHD_OPTION_URI_LOG_CALLBACK: the first sign of a request, and the last of its raw target.
private func begin(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context, let handle = unsafe handle, let target = unsafe target,
    let peer = unsafe coffer_mhd_info(handle, .CONNECTION_INFO_SOCKET_CONTEXT)?
      .pointee.socket_context
  else { return nil }
  let core = unsafe Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
  let exchange = unsafe Exchange(
    core: core, peer: Unmanaged<Peer>.fromOpaque(peer).takeUnretainedValue(),
    target: RawTarget(
      Array(UnsafeRawBufferPointer(start: target, count: strlen(target))),
      at: UInt(bitPattern: target)))
  return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// MHD_AccessHandlerCallback.
private func proceed(
  _ handle: OpaquePointer?, _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?,
  _ part: UnsafePointer<CChar>?, _ partByteCount: UnsafeMutablePointer<Int>?,
  _ exchange: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let opaque = unsafe exchange?.pointee, let handle = unsafe handle,
    let method = unsafe method, let version = unsafe version
  else { return .NO }
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(opaque).takeUnretainedValue()
  let byteCount = unsafe part == nil ? 0 : partByteCount?.pointee ?? 0
  let bytes = unsafe UnsafeRawBufferPointer(start: part, count: byteCount)
  unsafe partByteCount?.pointee = 0
  let lives = unsafe exchange.proceed(
    Connection(handle), part: bytes.bytes, RawHead(method: method, version: version))
  return lives ? .YES : .NO
}

/// MHD_RequestCompletedCallback: called once for each `begin`.
private func end(
  _ handle: OpaquePointer?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) {
  guard let slot = unsafe slot, let opaque = unsafe slot.pointee else { return }
  unsafe slot.pointee = nil
  unsafe Unmanaged<Exchange>.fromOpaque(opaque).takeRetainedValue().end()
}
