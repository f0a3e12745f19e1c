package import Base
import Glibc

/// Reads files whole: small ones that an operator wrote, and what a command is given.
package enum TextFile {
  static let byteCountMax = 1 << 20

  package enum Failure: Error {
    case unreadable(OpenFile.Refusal)
    case tooLarge(byteCountMax: Int)

    package var text: String {
      switch self {
      case .unreadable(let refusal): refusal.text
      case .tooLarge(let byteCountMax): "is larger than \(byteCountMax) bytes"
      }
    }
  }

  static func bytes(at path: String) throws(Failure) -> [UInt8] { try read(path).bytes }

  /// The bytes, and whether others than the file's owner may read or write it.
  static func read(_ path: String) throws(Failure) -> (bytes: [UInt8], isOpenToOthers: Bool) {
    let file: OpenFile
    do throws(OpenFile.Refusal) { file = try OpenFile(named: path) } catch {
      throw .unreadable(error)
    }
    defer { withExtendedLifetime(file) {} }
    var status = stat()
    guard unsafe fstat(file.descriptor, &status) == 0 else { throw .unreadable(.system(errno)) }
    return (
      try bytes(of: file.descriptor, atMost: byteCountMax), SecretFile.rightsOfOthers(status) != 0
    )
  }

  /// Everything that a descriptor has to read.
  package static func bytes(of file: Int32, atMost byteCountMax: Int) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe Glibc.read(file, &chunk, chunk.count)
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EINTR { continue }
        throw .unreadable(.system(errno))
      }
      bytes += chunk[..<count]
      guard bytes.count <= byteCountMax else { throw .tooLarge(byteCountMax: byteCountMax) }
    }
  }
}

/// A file for its owner alone.
package enum SecretFile {
  /// The rights of others than the owner, as bits of a mode; 0 if there is no such file.
  package static func rightsOfOthers(_ path: String) -> UInt32 {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? rightsOfOthers(status) : 0
  }

  /// A group may read the file if its owner is root. This gives a service a file that it may not change.
  static func rightsOfOthers(_ status: stat) -> UInt32 {
    let allowed: UInt32 = status.st_uid == 0 ? 0o740 : 0o700
    return status.st_mode & 0o777 & ~allowed
  }
}
