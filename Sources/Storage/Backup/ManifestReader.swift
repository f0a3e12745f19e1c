import Base
import Crypto
import Glibc

/// A reader of a manifest of any length, line by line.
///
/// `check` reads it once to its end. Trust nothing before that.
struct ManifestReader {
  private let path: String

  /// Throws if there is no manifest: the backup is unfinished, or is none.
  init(of backup: Folder) throws(BackupError) {
    guard backup.has(Manifest.name) else {
      throw BackupError(.refused, "\(backup.path) is not a complete backup: it has no manifest")
    }
    path = backup.path(of: Manifest.name)
  }

  /// Reads every line and checks the last one. Returns the data that occur once, and the totals.
  func check() throws(BackupError) -> (head: Manifest.Head, sum: Manifest.Sum) {
    var (taken, installation) = (Instant?.none, Identifier?.none)
    var (schemas, files) = ([String: Int](), [String: Manifest.File]())
    let sum = try read { (line) throws(BackupError) in
      switch line {
      case .taken(let instant): taken = instant
      case .installation(let history): installation = history
      case .schema(let name, let number): schemas[name] = number
      case .file(let name, let file): files[name] = file
      case .object, .missing, .end: break
      }
    }
    guard let taken, !files.isEmpty else { throw damaged("it does not say what it is of") }
    let head = Manifest.Head(
      taken: taken, installation: installation, schemas: schemas, files: files)
    return (head, sum)
  }

  private static let beginningByteCount = 1 << 12

  /// The data in the first lines, not checked against the digest at the end.
  func beginning() throws(BackupError) -> (taken: Instant?, installation: Identifier?) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system("read", path) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: Self.beginningByteCount)
    let count = unsafe Glibc.read(file, &bytes, bytes.count)
    guard count >= 0 else { throw .system("read", path) }
    var found = (taken: Instant?.none, installation: Identifier?.none)
    for line in bytes[..<count].split(separator: UInt8(ascii: "\n")).dropLast() {
      switch Manifest.Line(String(decoding: line, as: UTF8.self)) {
      case .taken(let instant)?: found.taken = instant
      case .installation(let history)?: found.installation = history
      default: continue
      }
    }
    return found
  }

  @discardableResult
  func read(_ each: (Manifest.Line) throws(BackupError) -> Void) throws(BackupError) -> Manifest.Sum
  {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system("read", path) }
    defer { close(file) }
    let digest = SHA256Stream()
    var (sum, end) = (Manifest.Sum(), Manifest.Sum?.none)
    var (part, rest) = ([UInt8](repeating: 0, count: 1 << 16), [UInt8]())
    var number = 0
    while true {
      let count = unsafe Glibc.read(file, &part, part.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .system("read", path) }
      guard count > 0 else { break }
      rest += part[..<count]
      var start = rest.startIndex
      while let newline = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
        let bytes = Array(rest[start...newline])
        start = newline + 1
        number += 1
        guard end == nil else { throw damaged("there is data after its end") }
        let text = String(decoding: bytes.dropLast(), as: UTF8.self)
        if number == 1 {
          guard Manifest.titles.contains(text) else {
            throw BackupError(.refused, "\(path) is from a backup that this version cannot read")
          }
        } else if let line = Manifest.Line(text) {
          if case .end(let said, let lines) = line {
            guard digest.finalize() == lines, said == sum else {
              throw damaged("its last line does not match the others")
            }
            end = said
            continue
          }
          sum.add(line)
          try each(line)
        } else {
          throw damaged("line \(number) is not readable")
        }
        digest.update(unsafe bytes.span.bytes)
      }
      rest.removeSubrange(..<start)
    }
    guard let end, rest.isEmpty else { throw damaged("it is cut off") }
    return end
  }

  private func damaged(_ why: String) -> BackupError {
    BackupError(.damaged, "the manifest \(path) is damaged: \(why)")
  }
}
