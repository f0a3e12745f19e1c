internal import Glibc

/// A directory that is removed, with what is in it, with this value.
final class Scratch {
  let path: String

  enum Failure: Error { case system(String, Int32) }

  init() throws {
    var template = Array("/tmp/coffer-command-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw Failure.system("mkdtemp", errno) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.remove(path) }

  /// Removes a file, or a directory with all it holds.
  private static func remove(_ path: String) {
    guard unsafe unlink(path) != 0 else { return }
    if let directory = unsafe opendir(path) {
      while let entry = unsafe readdir(directory) {
        let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
          unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { remove(path + "/" + name) }
      }
      unsafe closedir(directory)
    }
    unsafe rmdir(path)
  }

  func write(_ text: String, to name: String) throws -> String {
    let path = self.path + "/" + name
    try Self.write(text, to: path)
    return path
  }

  /// All at once: a running program may read the file (its clock) at any moment.
  static func write(_ text: String, to path: String) throws {
    let fresh = path + ".new"
    guard let file = unsafe fopen(fresh, "w") else { throw Failure.system(fresh, errno) }
    let bytes = Array(text.utf8)
    let count = unsafe fwrite(bytes, 1, bytes.count, file)
    guard unsafe fclose(file) == 0, count == bytes.count, unsafe rename(fresh, path) == 0 else {
      throw Failure.system(path, errno)
    }
  }

  static func text(_ path: String) throws -> String {
    guard let file = unsafe fopen(path, "r") else { throw Failure.system(path, errno) }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe fread(&chunk, 1, chunk.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += chunk[..<count]
    }
  }

  /// The permission bits of a file.
  static func mode(_ path: String) throws -> UInt32 {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw Failure.system(path, errno) }
    return status.st_mode & 0o777
  }
}
