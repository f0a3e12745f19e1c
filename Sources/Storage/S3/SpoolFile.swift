import Base
import Crypto
import Glibc
import Objects

/// A file without a name, in TMPDIR or /var/tmp. It goes with the process. One thread at a time may write.
final class SpoolFile {
  private let open: OpenFile
  private(set) var byteCount: Int64 = 0

  init() throws(ObjectStoreError) {
    let directory = environmentVariable("TMPDIR") ?? "/var/tmp"
    let file = unsafe Glibc.open(directory, O_RDWR | Self.temporary | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Self.failure("create") }
    open = OpenFile(owning: file, byteCount: 0)
  }

  /// O_TMPFILE, a macro that Swift does not import.
  private static let temporary = 0o20_000_000 | O_DIRECTORY

  func write(_ bytes: RawSpan) throws(ObjectStoreError) {
    guard writeAll(bytes, to: open.descriptor) else { throw Self.failure("write") }
    byteCount += Int64(bytes.byteCount)
  }

  /// What has been written. Any thread may read it, while more is written.
  var bytes: SpooledBytes { SpooledBytes(file: open, byteCount: byteCount) }

  /// The file, from its beginning. Nothing may be written after this.
  func file() -> OpenFile {
    lseek(open.descriptor, 0, SEEK_SET)
    return OpenFile(owning: fcntl(open.descriptor, F_DUPFD_CLOEXEC, 0), byteCount: byteCount)
  }

  fileprivate static func failure(_ action: String) -> ObjectStoreError {
    .unavailable(reason: "cannot \(action) a temporary file: \(systemError())")
  }
}

struct SpooledBytes: Sendable {
  let file: OpenFile
  let byteCount: Int64

  func digest(withMD5: Bool) throws(ObjectStoreError) -> BodyDigest {
    let (sha256, md5) = (SHA256Stream(), withMD5 ? MD5Stream() : nil)
    var buffer = [UInt8](repeating: 0, count: 1 << 17)
    var position: Int64 = 0
    while position < byteCount {
      let wanted = min(buffer.count, Int(byteCount - position))
      let count = unsafe pread(file.descriptor, &buffer, wanted, off_t(position))
      guard count > 0 else { throw SpoolFile.failure("read") }
      sha256.update(unsafe buffer.span.extracting(0..<count).bytes)
      md5?.update(unsafe buffer.span.extracting(0..<count).bytes)
      position += Int64(count)
    }
    return BodyDigest(sha256: sha256.finalize(), md5: md5?.finalize())
  }
}
