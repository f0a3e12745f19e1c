internal import Glibc

/// Reads a small file that an operator wrote.
enum TextFile {
  static let byteCountMax = 1 << 20

  enum Failure: Error {
    case unreadable(String)
    case tooLarge

    var text: String {
      switch self {
      case .unreadable(let reason): "cannot be read: \(reason)"
      case .tooLarge: "is larger than \(TextFile.byteCountMax) bytes"
      }
    }
  }

  static func bytes(at path: String) throws(Failure) -> [UInt8] { try read(path).bytes }

  /// The bytes, and whether others than the file's owner may read or write it. A group's read access
  /// is the owner's wish where that is root: so a service gets a file that it may not change.
  static func read(_ path: String) throws(Failure) -> (bytes: [UInt8], isOpenToOthers: Bool) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .unreadable(systemErrorText()) }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw .unreadable(systemErrorText()) }
    let allowed: mode_t = status.st_uid == 0 ? 0o740 : 0o700
    let isOpenToOthers = status.st_mode & 0o777 & ~allowed != 0
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe Glibc.read(file, &chunk, chunk.count)
      if count == 0 { return (bytes, isOpenToOthers) }
      if count < 0 {
        if errno == EINTR { continue }
        throw .unreadable(systemErrorText())
      }
      bytes += chunk[..<count]
      guard bytes.count <= byteCountMax else { throw .tooLarge }
    }
  }

  private static func systemErrorText() -> String {
    guard let text = unsafe strerror(errno) else { return "error \(errno)" }
    return unsafe String(cString: text)
  }
}
