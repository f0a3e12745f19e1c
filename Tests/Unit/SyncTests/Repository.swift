import Glibc
import TestEngines

/// Files of the repository, found from this file's own place.
enum Repository {
  static let root = String(#filePath.dropLast("/Tests/Unit/SyncTests/Repository.swift".count))

  /// Nil where there is no such file.
  static func text(_ path: String) -> String? {
    guard let file = unsafe fopen(root + "/" + path, "r") else { return nil }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }

  /// Every Swift source below a folder, by path.
  static func sources(under folder: String) -> [(path: String, text: String)] {
    names(in: root + "/" + folder).sorted().flatMap { name in
      let path = folder + "/" + name
      if !name.hasSuffix(".swift") { return sources(under: path) }
      return text(path).map { [(path, $0)] } ?? []
    }
  }

  /// Throws where the file cannot be written.
  static func write(_ text: String, to path: String) throws {
    guard let file = unsafe fopen(path, "w") else { throw Unwritable(path: path) }
    defer { unsafe fclose(file) }
    let bytes = Array(text.utf8)
    guard unsafe fwrite(bytes, 1, bytes.count, file) == bytes.count else {
      throw Unwritable(path: path)
    }
  }

  struct Unwritable: Error {
    let path: String
  }
}
