internal import Glibc

/// Files of the checkout that this was built from.
enum Repository {
  static let root: String = {
    let path = #filePath
    return path.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  }()

  static func bytes(of path: String) -> [UInt8] {
    let file = unsafe fopen(path, "r")
    guard let file = unsafe file else { preconditionFailure("cannot read \(path)") }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  /// The entries of a folder, sorted.
  static func names(in folder: String) -> [String] {
    let directory = unsafe opendir(folder)
    guard let directory = unsafe directory else { preconditionFailure("cannot list \(folder)") }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }
}
