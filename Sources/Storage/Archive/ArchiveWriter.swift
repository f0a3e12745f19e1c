package import Base
import Crypto
import Glibc

/// A writer of an archive: a tar of files, of which the last is the manifest with the size and the SHA-256 of each
/// other. It has its name once it is whole and durable; before, a dropped writer leaves nothing.
package final class ArchiveWriter {
  /// Names sort in the order in which they were made.
  package static func numbered(_ folder: String, _ number: Int) -> String {
    let text = String(number)
    return folder + String(repeating: "0", count: max(0, 6 - text.count)) + text + ".json"
  }

  private let path: String
  private let modified: Int64
  private let descriptor: Int32
  private var manifest: [UInt8]
  private var names: Set<String> = []
  private var isFinished = false
  /// The number of bytes written.
  package private(set) var byteCount: Int64 = 0

  private static let partByteCount = 1 << 20

  /// The manifest begins with `kind` and `format`. Refuses a path that exists.
  package init(_ path: String, kind: String, format: Int, at now: Instant) throws(ArchiveError) {
    guard unsafe access(path, F_OK) != 0 else {
      throw ArchiveError(.refused, "\(path) exists and will not be overwritten")
    }
    self.path = path
    modified = now.seconds
    manifest = Array("\(kind) \(format)\n".utf8)
    descriptor = unsafe open(
      path + Self.unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, FileOwnership.handOver(descriptor, at: path) else {
      throw .system("create", path + Self.unfinished)
    }
  }

  private static let unfinished = ".unfinished"

  deinit {
    close(descriptor)
    if !isFinished { _ = unsafe unlink(path + Self.unfinished) }
  }

  package func add(_ name: String, _ bytes: [UInt8]) throws(ArchiveError) {
    try begin(name, byteCount: Int64(bytes.count))
    try write(bytes[...])
    try end(name, byteCount: Int64(bytes.count), digest: SHA256.hash(bytes))
  }

  /// Copies an open file from its beginning. `each` gets the size of every part.
  package func add(
    _ name: String, _ file: OpenFile, each: (Int64) -> Void = { _ in }
  ) throws(ArchiveError) {
    try begin(name, byteCount: file.byteCount)
    let digest = SHA256Stream()
    var done: Int64 = 0
    while done < file.byteCount {
      let count = Int(min(Int64(Self.partByteCount), file.byteCount - done))
      guard let bytes = file.read(at: done, count: count) else { throw .system("read", name) }
      digest.update(unsafe bytes.span.bytes)
      try write(bytes[...])
      done += Int64(count)
      each(Int64(count))
    }
    try end(name, byteCount: done, digest: digest.finalize())
  }

  /// Makes the archive durable under its name. Returns the SHA-256 of the manifest, which covers the whole archive.
  package func finish() throws(ArchiveError) -> [UInt8] {
    let lines = Hex.encode(SHA256.hash(manifest))
    let bytes = manifest + Array("end \(names.count) \(lines)\n".utf8)
    try add(ArchiveReader.manifestName, bytes)
    try write([UInt8](repeating: 0, count: 2 * TarHeader.byteCount)[...])
    guard fsync(descriptor) == 0 else { throw .system("synchronize", path) }
    // Unlike a rename, a link fails if a file of that name appeared in the meantime.
    guard unsafe link(path + Self.unfinished, path) == 0 else { throw .system("create", path) }
    guard synchronizeName(of: path) else {
      let failure = ArchiveError.system("synchronize", path)
      _ = unsafe unlink(path)
      throw failure
    }
    isFinished = true
    _ = unsafe unlink(path + Self.unfinished)
    return SHA256.hash(bytes)
  }

  private func begin(_ name: String, byteCount: Int64) throws(ArchiveError) {
    precondition(
      name.utf8.count <= TarHeader.nameByteCountMax && !names.contains(name),
      "names are short and differ")
    guard byteCount <= TarHeader.fileByteCountMax else {
      throw ArchiveError(.refused, "\(name) is larger than an archive's files can be, 8 GiB")
    }
    try write(TarHeader(name: name, fileByteCount: byteCount).encoded(modified: modified)[...])
  }

  private func end(_ name: String, byteCount: Int64, digest: [UInt8]) throws(ArchiveError) {
    try write([UInt8](repeating: 0, count: TarHeader.padding(after: byteCount))[...])
    names.insert(name)
    manifest += Array("file \(name) \(byteCount) \(Hex.encode(digest))\n".utf8)
  }

  private func write(_ bytes: ArraySlice<UInt8>) throws(ArchiveError) {
    guard writeAll(unsafe bytes.span.bytes, to: descriptor) else { throw .system("write", path) }
    byteCount += Int64(bytes.count)
  }
}
