package import Base
import Crypto
import Glibc

/// The contents of a backup, one line for each. It is written last, so a backup with a manifest is whole.
///
/// The last line counts the objects and has the SHA-256 of all lines before it.
package struct Manifest: Sendable {
  package static let name = "manifest"
  static let title = "coffer-backup 2"
  /// The first format did not name the installation.
  static let titles = ["coffer-backup 1", title]

  /// The data that occur once.
  package struct Head: Sendable, Equatable {
    /// When the database was copied.
    package let taken: Instant
    /// The history of the database; nil in backups that earlier versions made.
    package let installation: Identifier?
    /// The number of migrations of `sync` and of `billing`.
    package let schemas: [String: Int]
    /// The database's files by their names in the backup.
    package let files: [String: File]
  }

  /// The size of a file's content, and its SHA-256.
  package struct File: Sendable, Equatable {
    package let byteCount: Int64
    package let digest: [UInt8]
  }

  package struct Object: Sendable, Equatable {
    package let id: Identifier
    package let file: File
  }

  /// The totals in the last line.
  package struct Sum: Sendable, Equatable {
    package var objectCount: Int64 = 0
    package var byteCount: Int64 = 0
    /// The objects that documents need and the store did not have.
    package var missingCount: Int64 = 0

    mutating func add(_ line: Line) {
      switch line {
      case .object(let object):
        objectCount += 1
        byteCount = byteCount.addingClamped(object.file.byteCount)
      case .missing: missingCount += 1
      case .taken, .installation, .schema, .file, .end: break
      }
    }
  }

  enum Line {
    case taken(Instant)
    case installation(Identifier)
    case schema(String, Int)
    case file(String, File)
    case object(Object)
    case missing(Identifier)
    case end(Sum, digest: [UInt8])
  }
}

extension Manifest.Line {
  var text: String {
    switch self {
    case .taken(let instant): "taken \(instant)"
    case .installation(let history): "installation \(history)"
    case .schema(let name, let number): "schema \(name) \(number)"
    case .file(let name, let file): "file \(name) \(file.byteCount) \(Hex.encode(file.digest))"
    case .object(let object):
      "object \(object.id) \(object.file.byteCount) \(Hex.encode(object.file.digest))"
    case .missing(let id): "missing \(id)"
    case .end(let sum, let digest):
      "end \(sum.objectCount) \(sum.byteCount) \(sum.missingCount) \(Hex.encode(digest))"
    }
  }

  init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
    switch (words.first, words.count) {
    case ("taken", 2):
      guard let instant = Instant(rfc3339: words[1]) else { return nil }
      self = .taken(instant)
    case ("installation", 2):
      guard let history = Identifier(words[1]) else { return nil }
      self = .installation(history)
    case ("schema", 3):
      guard let number = Int(words[2]) else { return nil }
      self = .schema(words[1], number)
    case ("file", 4):
      guard let file = Manifest.File(words[2], words[3]), !words[1].contains("/") else {
        return nil
      }
      self = .file(words[1], file)
    case ("object", 4):
      guard let id = Identifier(words[1]), let file = Manifest.File(words[2], words[3]) else {
        return nil
      }
      self = .object(Manifest.Object(id: id, file: file))
    case ("missing", 2):
      guard let id = Identifier(words[1]) else { return nil }
      self = .missing(id)
    case ("end", 5):
      guard let objects = Int64(words[1]), let bytes = Int64(words[2]),
        let missing = Int64(words[3]), let digest = Hex.decode(words[4])
      else { return nil }
      self = .end(
        Manifest.Sum(objectCount: objects, byteCount: bytes, missingCount: missing),
        digest: digest)
    default: return nil
    }
  }
}

extension Manifest.File {
  fileprivate init?(_ byteCount: String, _ digest: String) {
    guard let byteCount = Int64(byteCount), byteCount >= 0, let digest = Hex.decode(digest),
      digest.count == 32
    else { return nil }
    self.init(byteCount: byteCount, digest: digest)
  }
}

/// A writer of a manifest. It writes to another name; only `finish` puts the manifest in its place.
final class ManifestWriter {
  private(set) var sum = Manifest.Sum()
  private let folder: Folder
  private let path: String
  private let descriptor: Int32
  private let digest = SHA256Stream()
  private var buffer: [UInt8] = []

  private static let bufferByteCount = 1 << 16
  private static let unfinished = Manifest.name + ".unfinished"

  init(in folder: Folder) throws(BackupError) {
    self.folder = folder
    path = folder.path(of: Self.unfinished)
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, FileOwnership.handOver(descriptor, at: path) else {
      throw .system("create", path)
    }
    buffer = Array("\(Manifest.title)\n".utf8)
  }

  deinit { close(descriptor) }

  func write(_ line: Manifest.Line) throws(BackupError) {
    sum.add(line)
    buffer += Array("\(line.text)\n".utf8)
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  /// Makes the manifest durable under its name. Returns the SHA-256 of the whole file.
  func finish() throws(BackupError) -> [UInt8] {
    try flush()
    try put(Array("\(Manifest.Line.end(sum, digest: digest.finalize()).text)\n".utf8))
    guard fsync(descriptor) == 0 else { throw .system("synchronize", path) }
    let whole = try Manifest.File(reading: path).digest
    try folder.rename(Self.unfinished, to: Manifest.name)
    try folder.synchronize()
    return whole
  }

  private func flush() throws(BackupError) {
    let bytes = buffer
    digest.update(unsafe bytes.span.bytes)
    try put(bytes)
    buffer.removeAll(keepingCapacity: true)
  }

  private func put(_ bytes: [UInt8]) throws(BackupError) {
    guard writeAll(unsafe bytes.span.bytes, to: descriptor) else { throw .system("write", path) }
  }
}
