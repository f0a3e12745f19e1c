import Base
import CMicrohttpd
import HTTPMessages

/// The body of one response that is fetched block by block, each while the one before is sent.
///
/// Everything here runs on the worker of the connection, which is suspended while it waits for a block.
final class BlockReader {
  /// Whether the blocks may take so many more bytes of memory, once one was sent that began to be sent at that time.
  typealias Growth = (_ byteCount: Int, _ since: MonotonicTime) -> Bool

  /// The size of the first blocks. Two of them are in memory for as long as a slow client takes.
  private static let firstByteCount: Int64 = 1 << 19
  /// The size of libmicrohttpd's own buffer for this response, which is sent by one system call.
  private static let bufferByteCount: Int64 = 128 * 1024

  /// The most bytes in memory at once for a range, before its blocks grow: two blocks and the buffer.
  static func heldByteCount(of range: Range<Int64>) -> Int {
    let count = Int64(range.count)
    return Int(min(count, 2 * firstByteCount) + min(count, bufferByteCount))
  }

  private let source: any BlockSource
  private let range: Range<Int64>
  private let connection: Connection
  private let peer: Peer
  private let mayGrow: Growth
  private var blockByteCount: Int64
  private var block: [UInt8] = []
  private var blockStart: Int64
  /// When this block began to be sent; nil before the first one.
  private var begun: MonotonicTime?
  private var next: Waiting<[UInt8]>?

  init(
    _ source: any BlockSource, _ range: Range<Int64>, to connection: Connection, _ peer: Peer,
    mayGrow: @escaping Growth
  ) {
    self.source = source
    self.range = range
    self.connection = connection
    self.peer = peer
    self.mayGrow = mayGrow
    blockByteCount = min(Self.firstByteCount, source.blockByteCountMax)
    blockStart = range.lowerBound
  }

  /// A response of libmicrohttpd's that holds on to this object until it is destroyed.
  func makeOwnedMessage() -> OpaquePointer? {
    let context = unsafe Unmanaged.passRetained(self).toOpaque()
    let message = unsafe MHD_create_response_from_callback(
      UInt64(range.upperBound - range.lowerBound),
      Int(min(Self.bufferByteCount, Int64(range.count))),
      { context, position, buffer, count in
        let reader = unsafe Unmanaged<BlockReader>.fromOpaque(context!).takeUnretainedValue()
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
        return unsafe reader.read(from: Int64(position), into: buffer)
      }, context,
      { context in unsafe Unmanaged<BlockReader>.fromOpaque(context!).release() })
    if unsafe message == nil { unsafe Unmanaged<BlockReader>.fromOpaque(context).release() }
    return unsafe message
  }

  /// Copies bytes from `position` on. Returns their number, 0 once suspended, and -2 to close the connection.
  private func read(from position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let position = range.lowerBound + position
    if position < blockStart || position >= blockStart + Int64(block.count) {
      block = []
      let waiting = next ?? fetch(from: position)
      next = waiting
      guard peer.wait(for: waiting) else { return -2 }
      guard let fetched = waiting.outcome(orSuspend: connection) else { return 0 }
      peer.goOn()
      guard case .success(let bytes) = fetched, !bytes.isEmpty else { return -2 }
      (block, blockStart) = (bytes, position)
      let end = position + Int64(bytes.count)
      if range.upperBound - end > blockByteCount { grow() }
      begun = .now()
      next = end < range.upperBound ? fetch(from: end) : nil
    }
    let offset = Int(position - blockStart)
    let count = min(buffer.count, block.count - offset)
    unsafe block.withUnsafeBytes { bytes in
      unsafe buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
    }
    return count
  }

  /// Doubles the size of the blocks, if the client is quick and there is memory for two: each costs a request.
  private func grow() {
    let size = 2 * blockByteCount
    guard size <= source.blockByteCountMax, let begun, mayGrow(Int(size), begun) else { return }
    blockByteCount = size
  }

  private func fetch(from position: Int64) -> Waiting<[UInt8]> {
    let waiting = Waiting<[UInt8]> { _ in }
    // At a multiple of its size, as the blocks of which a store reads whole ones.
    let end = min((position / blockByteCount + 1) * blockByteCount, range.upperBound)
    source.fetch(position..<end) { result in
      if case .failure(let error) = result {
        Log.error("http.block_missing", ["error": String(reflecting: error)])
      }
      waiting.complete(result)
    }
    return waiting
  }
}
