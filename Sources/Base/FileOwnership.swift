internal import Glibc

/// Whose the files are that this process makes.
///
/// A command is at times called as root beside servers of another user. What it made would be root's, and
/// closed to the servers; so whatever root makes in a directory of another user's belongs to that user.
/// SQLite does the same for its logs.
package enum FileOwnership {
  /// Makes a directory for its owner only; false where it cannot be, as `errno` says, also where it is there.
  package static func makeDirectory(_ path: String) -> Bool {
    guard unsafe mkdir(path, 0o700) == 0 else { return false }
    guard geteuid() == 0 else { return true }
    let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else { return false }
    defer { close(directory) }
    return handOver(directory, at: path)
  }

  /// Gives what was opened to be made at a path to who owns the directory it lies in; false where that
  /// cannot be, as `errno` says.
  ///
  /// Only a file of root's with no second name: another one may be anything of the system's.
  package static func handOver(_ file: Int32, at path: String) -> Bool {
    guard geteuid() == 0 else { return true }
    var (own, place) = (stat(), stat())
    guard unsafe fstat(file, &own) == 0, unsafe stat(parent(of: path), &place) == 0 else {
      return false
    }
    let isDirectory = own.st_mode & S_IFMT == S_IFDIR
    let isOurs = own.st_mode & S_IFMT == S_IFREG && own.st_nlink == 1
    guard own.st_uid == 0, place.st_uid != 0, isDirectory || isOurs else { return true }
    return fchown(file, place.st_uid, place.st_gid) == 0
  }

  private static func parent(of path: String) -> String {
    var rest = Substring(path)
    while rest.count > 1, rest.hasSuffix("/") { rest.removeLast() }
    guard let slash = rest.lastIndex(of: "/") else { return "." }
    return slash == rest.startIndex ? "/" : String(rest[..<slash])
  }
}
