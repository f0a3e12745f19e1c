import Base
import Glibc

/// Files that a program writes the same at every run, under one folder that holds nothing else.
struct Recording {
  let folder: String
  /// By their paths inside the folder.
  let files: [String: [UInt8]]

  /// Writes what differs and removes what no story has any more; what it did, in a sentence.
  func write() throws(RecordingError) -> String {
    let (stale, differing) = compare()
    for path in stale where unsafe unlink("\(folder)/\(path)") != 0 {
      throw RecordingError(text: "cannot remove \(path)")
    }
    for path in differing { try write(path) }
    return "\(files.count) files, \(differing.count) written, \(stale.count) removed"
  }

  /// Writes all of them into a folder that may hold other files.
  func add() throws(RecordingError) {
    for path in files.keys { try write(path) }
  }

  /// The files that are missing, differ, or are of no story.
  func differences() -> [String] {
    let (stale, differing) = compare()
    return (stale + differing).sorted()
  }

  private func compare() -> (stale: [String], differing: [String]) {
    let existing = Self.paths(under: folder)
    return (
      existing.filter { files[$0] == nil },
      files.filter { Self.bytes(of: "\(folder)/\($0.key)") != $0.value }.map(\.key).sorted()
    )
  }

  private func write(_ path: String) throws(RecordingError) {
    let parts = path.split(separator: "/")
    for count in 0..<parts.count {
      unsafe mkdir(([Substring(folder)] + parts.prefix(count)).joined(separator: "/"), 0o755)
    }
    let file = unsafe fopen("\(folder)/\(path)", "w")
    guard let file = unsafe file else { throw RecordingError(text: "cannot write \(path)") }
    let bytes = files[path] ?? []
    let count = unsafe fwrite(bytes, 1, bytes.count, file)
    guard unsafe fclose(file) == 0, count == bytes.count else {
      throw RecordingError(text: "cannot write \(path)")
    }
  }

  static func bytes(of path: String) -> [UInt8]? {
    let file = unsafe fopen(path, "r")
    guard let file = unsafe file else { return nil }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  private static func paths(under folder: String, _ prefix: String = "") -> [String] {
    let directory = unsafe opendir(folder)
    guard let directory = unsafe directory else { return [] }
    defer { unsafe closedir(directory) }
    var paths: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name == "." || name == ".." { continue }
      let isFolder = unsafe entry.pointee.d_type == UInt8(DT_DIR)
      paths +=
        isFolder ? Self.paths(under: "\(folder)/\(name)", "\(prefix)\(name)/") : [prefix + name]
    }
    return paths
  }
}

struct RecordingError: Error {
  let text: String
}
