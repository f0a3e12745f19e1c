import Base
import Crypto
import Glibc
import Objects

extension Manifest.File {
  private static let partByteCount = 1 << 20

  /// Reads the file to its end, also into `writer`, which is not finished. `each` gets the size of every part.
  init(
    reading path: String, to writer: (any ObjectWriter)? = nil, each: (Int64) -> Void = { _ in }
  ) throws(BackupError) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system("read", path, .unreadable) }
    defer { close(file) }
    self = try Self.read(file, path) { (part) throws(BackupError) in
      if let writer {
        try BackupError.ofStore { () throws(ObjectStoreError) in
          try writer.write(unsafe part.span.bytes)
          writer.waitForRoom()
        }
      }
      each(Int64(part.count))
    }
  }

  /// Copies an open file to a new one and makes its content durable, but not its name. `name` is the source's.
  static func copy(
    _ source: Int32, named name: String, to path: String, each: (Int64) -> Void = { _ in }
  ) throws(BackupError) -> Manifest.File {
    let target = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard target >= 0 else { throw .system("create", path) }
    var isOpen = true
    defer { if isOpen { close(target) } }
    guard FileOwnership.handOver(target, at: path) else { throw .system("create", path) }
    let copied = try read(source, name) { (part) throws(BackupError) in
      guard writeAll(unsafe part.span.bytes, to: target) else {
        throw BackupError.system("write", path)
      }
      each(Int64(part.count))
    }
    isOpen = false
    guard fsync(target) == 0, close(target) == 0 else { throw .system("write", path) }
    return copied
  }

  static func copy(
    path source: String, to path: String, each: (Int64) -> Void
  ) throws(BackupError) -> Manifest.File {
    let file = unsafe open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system("read", source, .unreadable) }
    defer { close(file) }
    return try copy(file, named: source, to: path, each: each)
  }

  private static func read(
    _ file: Int32, _ path: String, each: (ArraySlice<UInt8>) throws(BackupError) -> Void
  ) throws(BackupError) -> Manifest.File {
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
    return Manifest.File(byteCount: byteCount, digest: digest.finalize())
  }
}
