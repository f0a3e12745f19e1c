import Base
import Crypto
import Glibc
import Objects

/// The size of a file's content, and its SHA-256.
struct HashedFile: Equatable {
  let byteCount: Int64
  let digest: [UInt8]

  private static let partByteCount = 1 << 20

  init(byteCount: Int64, digest: [UInt8]) {
    self.byteCount = byteCount
    self.digest = digest
  }

  /// Reads the file to its end. `each` gets the size of every part.
  init(reading path: String, each: (Int64) -> Void = { _ in }) throws(BackupError) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system("read", path, .unreadable) }
    defer { close(file) }
    self = try Self.read(file, path) { (part) throws(BackupError) in each(Int64(part.count)) }
  }

  /// Reads the file to its end into an object, which is not finished.
  init(
    reading path: String, to writer: any ObjectWriter, each: (Int64) -> Void
  ) throws(BackupError) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system("read", path, .unreadable) }
    defer { close(file) }
    self = try Self.read(file, path) { (part) throws(BackupError) in
      try BackupError.ofStore { () throws(ObjectStoreError) in
        try writer.write(unsafe part.span.bytes)
        writer.waitForRoom()
      }
      each(Int64(part.count))
    }
  }

  /// Copies an open file to a new one and makes its content durable, but not its name. `name` is
  /// the source's.
  static func copy(
    _ source: Int32, named name: String, to path: String, each: (Int64) -> Void = { _ in }
  ) throws(BackupError) -> HashedFile {
    let target = unsafe open(
      path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard target >= 0 else { throw .system("create", path) }
    var isOpen = true
    defer { if isOpen { close(target) } }
    guard FileOwnership.handOver(target, at: path) else { throw .system("create", path) }
    let copied = try read(source, name) { (part) throws(BackupError) in
      try write(part, to: target, path)
      each(Int64(part.count))
    }
    isOpen = false
    guard fsync(target) == 0, close(target) == 0 else { throw .system("write", path) }
    return copied
  }

  static func copy(
    path source: String, to path: String, each: (Int64) -> Void = { _ in }
  ) throws(BackupError) -> HashedFile {
    let file = unsafe open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system("read", source, .unreadable) }
    defer { close(file) }
    return try copy(file, named: source, to: path, each: each)
  }

  static func write(
    _ bytes: ArraySlice<UInt8>, to file: Int32, _ path: String
  ) throws(BackupError) {
    guard writeAll(unsafe bytes.span.bytes, to: file) else { throw .system("write", path) }
  }

  private static func read(
    _ file: Int32, _ path: String, each: (ArraySlice<UInt8>) throws(BackupError) -> Void
  ) throws(BackupError) -> HashedFile {
    let digest = SHA256Stream()
    var part = [UInt8](repeating: 0, count: partByteCount)
    var byteCount: Int64 = 0
    // Reads from the beginning, whatever the descriptor's position: others may read by the same one.
    while true {
      let count = unsafe pread(file, &part, part.count, off_t(byteCount))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .system("read", path, .unreadable) }
      guard count > 0 else { break }
      let bytes = part[..<count]
      digest.update(unsafe bytes.span.bytes)
      byteCount += Int64(count)
      try each(bytes)
    }
    return HashedFile(byteCount: byteCount, digest: digest.finalize())
  }
}
