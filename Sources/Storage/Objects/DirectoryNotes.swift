package import Base
import Glibc

/// The small files that say whose objects the directory has.
extension DirectoryStore {
  private enum Note: String { case history, companion }

  package func owner() throws(ObjectStoreError) -> ObjectOwner? {
    guard let (line, written) = try read(.history) else { return nil }
    return Identifier(line).map { ObjectOwner(history: $0, since: written) }
  }

  package func belong(to history: Identifier) throws(ObjectStoreError) {
    let known = try owner()?.history
    guard known != history else { return }
    let others = try identifiers(in: "instances").filter { $0 != instance && isRunning($0) }
    guard known == nil || others.isEmpty else {
      throw .unavailable(reason: "the object store is another database's, and a program runs on it")
    }
    try write("\(history)", to: .history)
  }

  package func companion() throws(ObjectStoreError) -> String? { try read(.companion)?.line }

  package func setCompanion(_ location: String?) throws(ObjectStoreError) {
    if let location { return try write(location, to: .companion) }
    guard unsafe unlink(path(.companion)) == 0 || errno == ENOENT else {
      throw Self.failure("delete")
    }
    try Self.synchronize(directory)
  }

  private func path(_ note: Note) -> String { "\(directory)/\(note.rawValue)" }

  private func read(_ note: Note) throws(ObjectStoreError) -> (line: String, written: Instant)? {
    let file = unsafe Glibc.open(path(note), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw Self.failure("open")
    }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = unsafe Glibc.read(file, &bytes, bytes.count)
    var status = stat()
    guard count >= 0, unsafe fstat(file, &status) == 0 else { throw Self.failure("read") }
    return (
      String(decoding: bytes.prefix(count).prefix { $0 != 10 }, as: UTF8.self),
      Instant(seconds: Int64(status.st_mtim.tv_sec))
    )
  }

  private func write(_ line: String, to note: Note) throws(ObjectStoreError) {
    let unfinished = temporaryPath(instance)
    let file = unsafe Glibc.open(
      unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw Self.failure("create") }
    defer { close(file) }
    guard FileOwnership.handOver(file, at: unfinished) else {
      throw Self.failure("give a file away")
    }
    let bytes = Array("\(line)\n".utf8)
    guard unsafe Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
      throw Self.failure("write")
    }
    guard unsafe rename(unfinished, path(note)) == 0 else { throw Self.failure("publish") }
    try Self.synchronize(directory)
  }
}
