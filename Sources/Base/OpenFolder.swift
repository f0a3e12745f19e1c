import Glibc

/// The plain files below a directory, all open, so that whoever reads them later follows no path.
///
/// Names that begin with a dot are left out.
package struct OpenFolder: Sendable {
  /// By their paths below the directory, such as `static/app.js`.
  package private(set) var files: [String: OpenFile] = [:]
  private var entryCount = 0
  private var byteCount: Int64 = 0
  private let entryCountMax: Int
  private let byteCountMax: Int64

  /// Why a directory is refused: a sentence without its subject, the directory.
  package struct Refusal: Error {
    package let text: String

    package init(_ text: String) { self.text = text }
  }

  /// Refuses a directory with a symbolic link, or anything else but files and directories, or with too much below it.
  package init(_ path: String, entryCountMax: Int, byteCountMax: Int64) throws(Refusal) {
    self.entryCountMax = entryCountMax
    self.byteCountMax = byteCountMax
    let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw Refusal("cannot be read: \(systemError())") }
    try add(directory, "")
  }

  /// Adds what is below `directory`, and closes it. `prefix` is its path, with a slash at the end.
  private mutating func add(_ directory: Int32, _ prefix: String) throws(Refusal) {
    guard let listing = unsafe fdopendir(directory) else {
      let reason = systemError()
      close(directory)
      throw Refusal("cannot be read: \(reason)")
    }
    defer { unsafe closedir(listing) }
    while let entry = unsafe readdir(listing) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { try add(name, of: directory, prefix + name) }
    }
  }

  private mutating func add(_ name: String, of directory: Int32, _ path: String) throws(Refusal) {
    entryCount += 1
    guard entryCount <= entryCountMax else {
      throw Refusal("has more than \(entryCountMax) files and directories")
    }
    let file = unsafe openat(
      directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else {
      let code = errno
      throw Refusal(
        "has \(path), which "
          + (code == ELOOP ? "is a symbolic link" : "cannot be read: \(systemError(code))"))
    }
    var status = stat()
    let kind = unsafe fstat(file, &status) == 0 ? status.st_mode & S_IFMT : 0
    switch kind {
    case S_IFDIR: try add(file, path + "/")
    case S_IFREG:
      files[path] = OpenFile(owning: file, byteCount: Int64(status.st_size))
      byteCount += Int64(status.st_size)
      guard byteCount <= byteCountMax else {
        throw Refusal("has more than \(byteCountMax) bytes")
      }
    default:
      close(file)
      throw Refusal("has \(path), which is neither a file nor a directory")
    }
  }
}
