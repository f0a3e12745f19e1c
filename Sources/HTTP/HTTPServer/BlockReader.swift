import Base
import CMicrohttpd
import HTTPMessages

/// The body of one response that is fetched block by block, with at most one block in memory.
///
/// Everything here runs on the worker of the connection, which is suspended while a block is fetched.
final class BlockReader {
  static let blockByteCount: Int64 = 1 << 19
  /// The size of libmicrohttpd's own buffer for this response.
  private static let bufferByteCount = 32 * 1024

  private let source: any BlockSource
  private let range: Range<Int64>
  private let connection: Connection
  private let peer: Peer
  private var block: [UInt8] = []
  private var blockStart: Int64
  private var waiting: Waiting<[UInt8]>?

  init(_ source: any BlockSource, _ range: Range<Int64>, to connection: Connection, _ peer: Peer) {
    self.source = source
    self.range = range
    self.connection = connection
    self.peer = peer
    blockStart = range.lowerBound
  }

  /// A response of libmicrohttpd's that holds on to this object until it is destroyed.
  func makeOwnedMessage() -> OpaquePointer? {
    let context = unsafe Unmanaged.passRetained(self).toOpaque()
    let message = unsafe MHD_create_response_from_callback(
      UInt64(range.upperBound - range.lowerBound), Self.bufferByteCount,
      { context, position, buffer, count in
        let reader = unsafe Unmanaged<BlockReader>.fromOpaque(context!).takeUnretainedValue()
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
        return unsafe reader.read(from: Int64(position), into: buffer)
      }, context,
      { context in unsafe Unmanaged<BlockReader>.fromOpaque(context!).release() })
    if unsafe message == nil { unsafe Unmanaged<BlockReader>.fromOpaque(context).release() }
    return unsafe message
  }

  /// Copies bytes from `position` of the body on. Returns their number, 0 once the connection is suspended,
  /// and -2 (`MHD_CONTENT_READER_END_WITH_ERROR`) to close the connection.
  private func read(from position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let position = range.lowerBound + position
    if position < blockStart || position >= blockStart + Int64(block.count) {
      guard let fetched = nextBlock(from: position) else { return 0 }
      peer.goOn()
      waiting = nil
      guard case .success(let bytes) = fetched, !bytes.isEmpty else { return -2 }
      (block, blockStart) = (bytes, position)
    }
    let offset = Int(position - blockStart)
    let count = min(buffer.count, block.count - offset)
    unsafe block.withUnsafeBytes { bytes in
      unsafe buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
    }
    return count
  }

  /// Nil, with the connection suspended, until the block is there.
  private func nextBlock(from position: Int64) -> Result<[UInt8], any Error>? {
    if let waiting { return waiting.outcome(orSuspend: connection) }
    block = []
    let waiting = Waiting<[UInt8]> { _ in }
    guard peer.wait(for: waiting) else { return .failure(Peers.isStopping) }
    self.waiting = waiting
    let end = min(position + Self.blockByteCount, range.upperBound)
    source.fetch(position..<end) { result in
      if case .failure(let error) = result {
        Log.error("http.block_missing", ["error": String(reflecting: error)])
      }
      waiting.complete(result)
    }
    return waiting.outcome(orSuspend: connection)
  }
}
