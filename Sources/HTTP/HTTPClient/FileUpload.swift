import Base
import CCurl
import Glibc

/// The part of a file that one request sends. libcurl reads it on the thread of the request.
final class FileUpload {
  private let file: OpenFile
  private let range: Range<Int64>
  private var position: Int64

  init(_ file: OpenFile, _ range: Range<Int64>) {
    self.file = file
    self.range = range
    position = range.lowerBound
  }

  var byteCount: Int64 { range.upperBound - range.lowerBound }

  /// The number of bytes that were read; CURL_READFUNC_ABORT ends the transfer.
  func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let wanted = min(buffer.count, Int(range.upperBound - position))
    guard wanted > 0 else { return 0 }
    let count = unsafe pread(file.descriptor, buffer.baseAddress, wanted, off_t(position))
    // The file is shorter than it was, or the disk fails.
    guard count > 0 else { return Int(CURL_READFUNC_ABORT) }
    position += Int64(count)
    return count
  }

  /// Goes back for a second sending. libcurl knows no other origin than the beginning.
  func seek(_ offset: Int64, _ origin: Int32) -> Int32 {
    guard origin == SEEK_SET, offset >= 0, offset <= byteCount else { return CURL_SEEKFUNC_FAIL }
    position = range.lowerBound + offset
    return CURL_SEEKFUNC_OK
  }
}
