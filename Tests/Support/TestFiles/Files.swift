import Glibc

/// Reads and writes whole small files, and lists folders.
package enum Files {
  /// The checkout from which this was built.
  package static let repository = String(
    #filePath.dropLast("/Tests/Support/TestFiles/Files.swift".count))

  /// Nil if the file cannot be read.
  package static func bytes(_ path: String) -> [UInt8]? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe read(file, &part, part.count)
      guard count >= 0 else { return nil }
      if count == 0 { return bytes }
      bytes += part[..<count]
    }
  }

  package static func text(_ path: String) -> String? {
    bytes(path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Creates missing folders, and replaces the file in one step, because a running program may read it (its
  /// clock) at any moment. Only the owner can read a secret.
  package static func write(
    _ bytes: [UInt8], to path: String, isSecret: Bool = false
  ) throws(FileError) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    for count in parts.indices.dropFirst() where !parts[..<count].joined().isEmpty {
      unsafe mkdir(parts[..<count].joined(separator: "/"), 0o755)
    }
    let fresh = path + ".new"
    let mode: mode_t = isSecret ? 0o600 : 0o644
    let file = unsafe open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    guard file >= 0 else { throw FileError(path: path, code: errno) }
    let count = unsafe Glibc.write(file, bytes, bytes.count)
    guard close(file) == 0, count == bytes.count, unsafe rename(fresh, path) == 0 else {
      throw FileError(path: path, code: errno)
    }
  }

  package static func write(
    _ text: String, to path: String, isSecret: Bool = false
  ) throws(FileError) {
    try write(Array(text.utf8), to: path, isSecret: isSecret)
  }

  /// Creates a folder that only this user can see, in an existing folder.
  package static func createFolder(_ path: String) throws(FileError) {
    guard unsafe mkdir(path, 0o700) == 0 else { throw FileError(path: path, code: errno) }
  }

  /// Gives a file or folder times of 2023. Returns false if it cannot.
  package static func age(_ path: String) -> Bool {
    let times = [timespec](repeating: timespec(tv_sec: 1_700_000_000, tv_nsec: 0), count: 2)
    return unsafe utimensat(AT_FDCWD, path, times, 0) == 0
  }

  /// Returns false if the file cannot be removed.
  package static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 }

  /// Removes a file, or a folder with everything in it.
  package static func removeAll(_ path: String) {
    guard unsafe unlink(path) != 0 else { return }
    for entry in entries(of: path) { removeAll("\(path)/\(entry.name)") }
    unsafe rmdir(path)
  }

  /// The permission bits of a file; nil if there is none.
  package static func permissions(_ path: String) -> UInt32? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }

  /// The names in a folder, sorted, without hidden ones; empty if it cannot be read.
  package static func names(in folder: String) -> [String] {
    entries(of: folder).map(\.name).filter { !$0.hasPrefix(".") }.sorted()
  }

  /// Every file below a folder, by its relative path, sorted, without hidden ones.
  package static func paths(under folder: String) -> [String] {
    entries(of: folder).filter { !$0.name.hasPrefix(".") }.flatMap { name, isFolder in
      isFolder ? paths(under: "\(folder)/\(name)").map { "\(name)/\($0)" } : [name]
    }.sorted()
  }

  private static func entries(of folder: String) -> [(name: String, isFolder: Bool)] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(directory) }
    var entries: [(name: String, isFolder: Bool)] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name != ".", name != ".." else { continue }
      entries.append((name, unsafe entry.pointee.d_type == UInt8(DT_DIR)))
    }
    return entries
  }
}

/// A file that could not be written.
package struct FileError: Error, CustomStringConvertible {
  let path: String
  /// `errno`.
  let code: Int32

  package var description: String { "\(path) cannot be written: error \(code)" }
}

extension [UInt8] {
  /// Whether these bytes contain the others, which are at least one.
  package func holds(_ other: [UInt8]) -> Bool {
    let lastStart = count - other.count
    guard lastStart >= 0 else { return false }
    return (0...lastStart).contains { start in
      self[start] == other[0] && self[start..<start + other.count].elementsEqual(other)
    }
  }
}
