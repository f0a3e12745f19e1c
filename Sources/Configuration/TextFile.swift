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

  static func bytes(at path: String) throws(Failure) -> [UInt8] {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .unreadable(systemErrorText()) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe read(file, &chunk, chunk.count)
      if count == 0 { return bytes }
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
