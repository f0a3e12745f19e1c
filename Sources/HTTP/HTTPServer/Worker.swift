import Base
import CMicrohttpd
import Glibc

/// A libmicrohttpd daemon and the thread that runs it, fed with accepted sockets.
///
/// There is one daemon for each core, not one daemon with a thread pool. A pool must own the
/// listening socket, and then a full server makes clients hang. Also, `MHD_quiesce_daemon` on a
/// busy pool can abort the process: it removes the socket from a worker's epoll set, as the worker
/// may do too, and treats the ENOENT that follows as fatal (daemon.c of 0.9.75).
///
/// The thread is not the library's own. That one, after 128 events from one `epoll_wait`, waits for
/// further events before it serves those. If every client waits for a response, none come.
@safe
final class Worker: @unchecked Sendable {
  private let daemon: OpaquePointer
  private let intake: Intake
  private let thread = Locked<Thread?>(nil)

  /// Nil if the system refuses a resource that it needs.
  init?(core: ServerCore) {
    guard let intake = Intake(core) else { return nil }
    let daemon = unsafe coffer_mhd_start(
      { _, handle, _, method, version, part, partByteCount, exchange in
        unsafe proceed(handle, method, version, part, partByteCount, exchange)
      },
      { context, target, handle in unsafe begin(context, target, handle) },
      { _, handle, exchange, _ in unsafe end(handle, exchange) },
      { context, handle, peer, event in unsafe notify(context, handle, peer, event) },
      Unmanaged.passUnretained(intake).toOpaque(), UInt32(clamping: core.limits.connectionCountMax),
      core.limits.poolByteCount)
    guard let daemon = unsafe daemon else { return nil }
    unsafe self.daemon = daemon
    self.intake = intake
    thread.withLock { $0 = Thread(niceness: Thread.behindWriter) { [self] in run() } }
  }

  func add(_ arrival: Intake.Arrival) { intake.add(arrival) }

  /// Ends the thread. No connection may be suspended, or libmicrohttpd would abort the process.
  func stop() {
    intake.stop()
    thread.withLock { $0.take() }?.join()
    unsafe MHD_stop_daemon(daemon)
  }

  private func run() {
    var isStopped = false
    while !isStopped {
      let arrivals: [Intake.Arrival]
      let milliseconds = unsafe coffer_mhd_timeout(daemon)
      // Each run sends at most 128 KiB of a large response, and then has more to do at once.
      if milliseconds != 0 {
        unsafe intake.wait(or: coffer_mhd_descriptor(daemon), for: milliseconds)
      }
      (arrivals, isStopped) = intake.take()
      for arrival in arrivals { admit(arrival) }
      unsafe MHD_run(daemon)
    }
  }

  /// libmicrohttpd closes the socket, even if it refuses it.
  private func admit(_ arrival: Intake.Arrival) {
    var name = arrival.name
    let isAdmitted = unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe MHD_add_connection(daemon, arrival.descriptor, pointer, arrival.nameByteCount)
      }
    }
    if isAdmitted == .NO {
      intake.core.metrics.connections.add(-1)
      intake.core.peers.release(arrival.address)
    }
  }
}

// The callbacks are functions without isolation: a closure written in an actor's context would trap on this thread.

/// MHD_NotifyConnectionCallback: `slot` keeps the peer while the connection is open.
private func notify(
  _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ event: MHD_ConnectionNotificationCode
) {
  guard let context = unsafe context, let handle = unsafe handle, let slot = unsafe slot else {
    return
  }
  let intake = unsafe Unmanaged<Intake>.fromOpaque(context).takeUnretainedValue()
  let core = intake.core
  switch event {
  case .CONNECTION_NOTIFY_STARTED:
    let connection = unsafe Connection(handle, of: intake)
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

/// MHD_OPTION_URI_LOG_CALLBACK: the first callback of a request, and the last with its raw target.
private func begin(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context, let handle = unsafe handle, let target = unsafe target,
    let peer = unsafe coffer_mhd_info(handle, .CONNECTION_INFO_SOCKET_CONTEXT)?
      .pointee.socket_context
  else { return nil }
  let intake = unsafe Unmanaged<Intake>.fromOpaque(context).takeUnretainedValue()
  let exchange = unsafe Exchange(
    intake: intake, peer: Unmanaged<Peer>.fromOpaque(peer).takeUnretainedValue(),
    target: RawTarget(
      Array(UnsafeRawBufferPointer(start: target, count: strlen(target))),
      at: UInt(bitPattern: target)))
  return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

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
    Connection(handle, of: exchange.intake), part: bytes.bytes,
    RawHead(method: method, version: version))
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
